package configs

import "strings"

// branchPattern takes a branch name that may hold {task} once. Whatever id takes its place is
// itself harmless (letters, digits and inner . _ -), so a sample id stands for all.
func branchPattern(name string) (what, hint string) {
	if strings.Count(name, "{task}") > 1 {
		return "holds {task} twice", ""
	}
	sample := strings.ReplaceAll(name, "{task}", "0a1b2c3d4e")
	if strings.ContainsAny(sample, "{}") {
		return quote(name) + " holds an unknown placeholder", `did you mean "{task}"?`
	}
	return branchName(name, sample)
}

func optionalBranch(name string) (what, hint string) {
	if name == "" {
		return "", ""
	}
	return branchName(name, name)
}

// branchName applies git-check-ref-format(1) to sample, with --branch: no leading dash, not
// HEAD. Messages show what the user wrote.
func branchName(written, sample string) (what, hint string) {
	if short, ok := strings.CutPrefix(sample, "refs/heads/"); ok && short != "" {
		return quote(written) + " is a full ref", "leave out refs/heads/"
	}
	if sample == "" || sample == "HEAD" || sample == "@" || sample[0] == '-' || !refFormat(sample) {
		return quote(written) + " is not a name git takes for a branch", ""
	}
	return "", ""
}

// refFormat is rules 1 and 3 to 10 of git-check-ref-format(1); rule 2, at least one slash,
// holds once refs/heads/ stands in front.
func refFormat(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	for _, bad := range []string{"..", "@{"} {
		if strings.Contains(name, bad) {
			return false
		}
	}
	return !strings.HasSuffix(name, ".") && !strings.ContainsAny(name, " ~^:?*[\\") &&
		!strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// remoteName takes the name of a remote as git-remote(1) would; a URL could name a program
// to run (gitremote-helpers(7), ext::).
func remoteName(name string) (what, hint string) {
	if name == "" {
		return "", ""
	}
	if strings.Contains(name, ":") {
		return "is not the name of a remote", "add the URL with `git remote add` and give its name"
	}
	if name[0] == '-' || !refFormat(name) {
		return quote(name) + " is not the name of a remote", ""
	}
	return "", ""
}
