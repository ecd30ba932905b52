package validators

import (
	"bytes"
	"regexp"
	"strings"
)

// mask is one rule: what differs from run to run becomes a fixed text.
type mask struct {
	what *regexp.Regexp
	with string
}

// volatile are the places where tools print time, addresses and ports. A duration in a test's own
// message ("expected 5s, got 3s") is what the message is about, so it stays.
var volatile = []mask{
	{regexp.MustCompile(`^\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?`), "[time]"},
	{regexp.MustCompile(`^(\s*--- (?:FAIL|PASS|SKIP): .*) \(\d[\d.]*s\)$`), "$1"},
	{regexp.MustCompile(`^(FAIL\t[^\t]+)\t\d[\d.]*s$`), "$1"},
	{regexp.MustCompile(`^(\s+Test\S+) \(\d[\dhms.]*\)$`), "$1"},
	{regexp.MustCompile(`^(=* ?\d+ [a-z]+.*) in \d[\d.]*s(?: \([^)]*\))?( =*)?$`), "$1$2"},
	{regexp.MustCompile(`^(Ran \d+ tests?) in \d[\d.]*s$`), "$1"},
	{regexp.MustCompile(`\(\d[\d.]*ms\)$`), "([time])"},
	{regexp.MustCompile(`\bduration_ms:? [\d.]+`), "duration_ms [time]"},
	{regexp.MustCompile(`(;? ?finished in) \d[\d.]*s$`), "$1 [time]"},
	{regexp.MustCompile(`(target\(s\) in) \d[\d.ms ]*$`), "$1 [time]"},
	{regexp.MustCompile(`^(\s*(?:Time|Duration):?\s+)\d[\d.]* ?m?s.*$`), "$1[time]"},
	{regexp.MustCompile(`\(target/(\w+)/deps/([\w]+)-[0-9a-f]{16}\)`), "(target/$1/deps/$2)"},
	{regexp.MustCompile(`^goroutine \d+ `), "goroutine N "},
	{regexp.MustCompile(`\b(goroutine) \d+$`), "$1 N"},
	{regexp.MustCompile(`^(thread '[^']*') \(\d+\)`), "$1"},
	{regexp.MustCompile(`0x[0-9a-f]{9,16}\b`), "0x[address]"},
	{regexp.MustCompile(`(127\.0\.0\.1|localhost|\[::1\]):\d{4,5}\b`), "$1:[port]"},
	{regexp.MustCompile(`(^|[\s"'(=:])(?:/private)?(?:/tmp|/var/tmp|/var/folders/[^/\s]+/[^/\s]+/T)/[^/\s:"')]+`), "$1[tmp]"},
}

// plain turns kept output into lines without escapes, progress bars and whatever differs between
// two runs of the same tree; paths become relative to the tree.
func plain(r Result) []string {
	var lines []string
	temp := regexp.MustCompile(regexp.QuoteMeta(r.Temp) + `/[^/\s:"')]+`)
	for b := range bytes.Lines(r.Output) {
		b = bytes.TrimRight(b, " \t\r\n")
		b = escapes.ReplaceAll(b[bytes.LastIndexByte(b, '\r')+1:], nil)
		s := strings.ToValidUTF8(string(b), "\uFFFD")
		if r.Dir != "" {
			s = strings.ReplaceAll(strings.ReplaceAll(s, r.Dir+"/", ""), r.Dir, ".")
		}
		if r.Temp != "" {
			s = temp.ReplaceAllString(s, "[tmp]")
		}
		for _, m := range volatile {
			s = m.what.ReplaceAllString(s, m.with)
		}
		lines = append(lines, s)
	}
	return lines
}

// noise are lines that say that something went well or has begun.
var noise = regexp.MustCompile(`^(?:` + strings.Join([]string{
	`\s*--- (?:PASS|SKIP): .*`, `=== (?:RUN|PAUSE|CONT|NAME)\b.*`, `PASS`, `ok  \t.*`, `\?   \t.*`, // go
	`\s*(?:Compiling|Checking|Fresh|Finished|Running|Downloaded|Downloading|Doc-tests) .*`, // cargo
	`test .* \.\.\. (?:ok|ignored)`, `running \d+ tests?`, `test result: ok\..*`,
	`\S+::\S+ (?:PASSED|SKIPPED|XFAIL)\b.*`, `[.sx]+ +\[ *\d+%\]`, // pytest
	`\w+ \(\S+\)(?: \S+)? \.\.\. (?:ok|skipped .*)`,                                        // unittest
	`\s*ok \d+(?: - .*)?`, `\s*# Subtest: .*`, `TAP version \d+`, `\s*1\.\.\d+`, `\s*✔ .*`, // node
	`\s+\S*/src/(?:testing|runtime)/\w+\.(?:go|s):\d+.*`, `(?:testing|runtime)\.\S+\(.*\)`, `created by testing\..*`, // go's own frames
	"(?:For more information about this error|Some errors have detailed explanations).*",
	`(?:platform|rootdir|cachedir|plugins|configfile)\b[: ].*`, // pytest
	`PASS +\S+\.\w+.*`, `\s*[✓√] .*`, // jest, vitest
	`\[INFO\](?: Scanning for projects.*| -+.*| Building .*| Download(?:ing|ed) .*)?`, // maven
	`\s*duration_ms \[time\]`, `[#ℹ] (?:suites|cancelled|skipped|todo|duration_ms)\b.*`, `\s*(?:---|\.\.\.)`,
}, "|") + `)$`)

// tells matches lines that explain a failure: words for it, and places in files.
var tells = regexp.MustCompile(`(?i)\b(?:error|errors|fail|failed|fails|failure|panic|panicked|fatal|exception|assert\w*|expected|want|got|undefined|undeclared|unresolved|cannot|can't|not ok|traceback|killed|denied|missing|mismatch\w*|unexpected|refused)\b|\w(?:Error|Exception)\b|✖|[\w)]\.[A-Za-z]\w{0,5}:\d+|^E\s`)
