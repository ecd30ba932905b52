package redact

import (
	"encoding/base64"
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// forms lists how programs print a secret: as it is, without the white space
// around it (files end in a line break), with the line breaks of a terminal,
// and each of its lines alone, all in every encoding. Many are equal for a
// value of letters and digits; the caller drops those.
func forms(secret string) []pattern {
	all := encodings(secret)
	if trimmed := strings.TrimSpace(secret); trimmed != secret {
		all = append(all, encodings(trimmed)...)
	}
	if !strings.Contains(secret, "\n") {
		return all
	}
	unix := strings.ReplaceAll(secret, "\r\n", "\n")
	all = append(all, encodings(unix)...)
	all = append(all, encodings(strings.ReplaceAll(unix, "\n", "\r\n"))...)
	for line := range strings.SplitSeq(secret, "\n") {
		line = strings.TrimSpace(line)
		if len(line) >= MinLength && !pemFrame.MatchString(line) {
			all = append(all, encodings(line)...)
		}
	}
	return all
}

// pemFrame matches the lines of a key file that every key file has.
var pemFrame = regexp.MustCompile(`^-----(BEGIN|END) [A-Z0-9 ]+-----$`)

// encodings lists value in each encoding. Those of a value below MinLength are
// left out even where they are longer.
func encodings(value string) []pattern {
	if len(value) < MinLength {
		return nil
	}
	all := []pattern{{text: value}, hexadecimal(value)}
	all = append(all, base64s(value)...)
	for _, s := range percentStyles {
		all = append(all, percent(value, s))
	}
	for _, s := range jsonStyles {
		once := jsonString(pattern{text: value}, s)
		all = append(all, once, jsonString(once, s), jsonString(once, jsonStyle{}))
	}
	for _, r := range replacements {
		all = append(all, pattern{text: strings.NewReplacer(r...).Replace(value)})
	}
	return append(all, pattern{text: shellWord(value)}, quoted(strconv.Quote(value)), quoted(strconv.QuoteToASCII(value)))
}

// quoted strips the quotes that strconv puts around a value.
func quoted(q string) pattern { return pattern{text: q[1 : len(q)-1]} }

// hexadecimal matches in either case.
func hexadecimal(value string) pattern {
	var b builder
	b.hex(hex.EncodeToString([]byte(value)))
	return b.pattern()
}

// base64s lists what the value looks like inside of longer text that was
// encoded: at three offsets, as three bytes make four characters (RFC 4648
// §4), without the characters that hold bits of the neighbours as well.
func base64s(value string) []pattern {
	var all []pattern
	for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			text := alphabet.EncodeToString(append(make([]byte, before), value...))
			from := (before*8 + 5) / 6
			to := (before + len(value)) * 8 / 6
			all = append(all, pattern{text: text[from:to]})
		}
	}
	return all
}

// A percentStyle is one program's idea of RFC 3986 §2.1: which bytes besides
// letters and digits stay, and whether a space is a plus.
type percentStyle struct {
	keep string
	plus bool
}

var percentStyles = []percentStyle{
	{keep: "-_.~"},                   // RFC 3986 §2.3
	{keep: "-_.~", plus: true},       // net/url QueryEscape, quote_plus
	{keep: "*-._", plus: true},       // forms of a browser
	{keep: "-_.~/"},                  // quote of Python
	{keep: "-_.~$&+=:@"},             // net/url PathEscape
	{keep: "-_.~$&+,;="},             // net/url UserPassword
	{keep: "-_.!~*'()"},              // encodeURIComponent
	{keep: "-_.!~*'();,/?:@&=+$#"},   // encodeURI
	{keep: "-_.~$&+,/:;=@"},          // net/url EscapedPath
	{keep: "-_.~!$&'()*+,;=:@/"},     // RFC 3986 §3.3
	{keep: "-_.~!$&'()*+,;=:@/?[]|"}, // curl
}

// percent encodes with hexadecimal digits of either case, also mixed.
func percent(value string, s percentStyle) pattern {
	var b builder
	for i := range len(value) {
		switch c := value[i]; {
		case alphanumeric(c) || strings.IndexByte(s.keep, c) >= 0:
			b.plain(value[i : i+1])
		case c == ' ' && s.plus:
			b.plain("+")
		default:
			b.plain("%")
			b.hex(hex.EncodeToString([]byte{c}))
		}
	}
	return b.pattern()
}

// A jsonStyle says what an encoder escapes besides what RFC 8259 §7 demands.
type jsonStyle struct {
	html  bool // < > &, as encoding/json
	slash bool // /, as PHP
	ascii bool // everything else, as Python
}

var jsonStyles = []jsonStyle{{}, {html: true}, {slash: true}, {ascii: true}, {slash: true, ascii: true}}

// jsonString escapes p as the inside of a JSON string. Text that isn't UTF-8
// stays as it is.
func jsonString(p pattern, s jsonStyle) pattern {
	var b builder
	for i, r := range p.text {
		size := utf8.RuneLen(r)
		if r == utf8.RuneError {
			_, size = utf8.DecodeRuneInString(p.text[i:])
		}
		switch short := strings.IndexRune("\"\\\b\f\n\r\t", r); {
		case short >= 0:
			b.plain(`\` + `"\bfnrt`[short:short+1])
		case r == '/' && s.slash:
			b.plain(`\/`)
		case r < ' ', s.html && strings.ContainsRune("<>&\u2028\u2029", r), s.ascii && r > '~' && size > 1:
			b.unicode(r)
		default:
			b.copy(p, i, i+size)
		}
	}
	return b.pattern()
}

// replacements are the encodings that replace a few bytes each: HTML text and
// attributes, and the shell's two ways to end quotes around a single quote,
// double quotes, and $'…' quotes (bash(1), QUOTING).
var replacements = [][]string{
	{"&", "&amp;", "<", "&lt;", ">", "&gt;"},
	{"&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&#34;", "'", "&#39;"},
	{"&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;"},
	{"&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#39;"},
	{"&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#039;"},
	{"&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&#x27;"},
	{"&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;"},
	{"'", `'\''`},
	{"'", `'"'"'`},
	{`"`, `\"`, `\`, `\\`, "$", `\$`, "`", "\\`"},
	{"'", `\'`, `\`, `\\`, "\n", `\n`, "\t", `\t`, "\r", `\r`},
}

// shellWord puts a backslash before each byte the shell could take for its
// own, as printf %q does.
func shellWord(value string) string {
	var b strings.Builder
	for i := range len(value) {
		if c := value[i]; c < utf8.RuneSelf && !alphanumeric(c) && strings.IndexByte("-_.,+:@%/", c) < 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(value[i])
	}
	return b.String()
}

func alphanumeric(c byte) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}

// A builder writes a pattern whose hexadecimal digits match in either case.
type builder struct {
	text, fold []byte
	folded     bool
}

func (b *builder) plain(s string) {
	b.text = append(b.text, s...)
	b.fold = append(b.fold, make([]byte, len(s))...)
}

// hex adds lower-case digits.
func (b *builder) hex(digits string) {
	b.text = append(b.text, digits...)
	for range digits {
		b.fold = append(b.fold, 1)
	}
	b.folded = true
}

// unicode adds r as one \uXXXX, or as two when it needs a surrogate pair.
func (b *builder) unicode(r rune) {
	if r > 0xffff {
		r -= 0x10000
		b.unicode(0xd800 + r>>10)
		r = 0xdc00 + r&0x3ff
	}
	b.plain(`\u`)
	b.hex(hex.EncodeToString([]byte{byte(r >> 8), byte(r)}))
}

// copy adds p.text[from:to] with its folding.
func (b *builder) copy(p pattern, from, to int) {
	b.plain(p.text[from:to])
	if p.fold != "" {
		copy(b.fold[len(b.fold)-(to-from):], p.fold[from:to])
		b.folded = true
	}
}

func (b *builder) pattern() pattern {
	if !b.folded {
		return pattern{text: string(b.text)}
	}
	return pattern{text: string(b.text), fold: string(b.fold)}
}
