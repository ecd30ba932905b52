package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"hob/engine/model"
)

// A Tool is something the model may ask for while it works. Tools look around
// and run commands; edits are never tools, because models quote code badly
// inside JSON.
type Tool struct {
	Spec model.ToolSpec
	// ReadOnly tools run even when the reply's edits were refused.
	ReadOnly bool
	// Run answers with text for the model. An error that wraps none of the
	// session's own ends is shown to the model as the tool's answer.
	Run func(ctx context.Context, args json.RawMessage) (string, error)
}

// Bounds on what one tool call may return: enough to see a file's part, too
// little to flood a window of 32k tokens with one careless call.
const (
	maxRead     = 400       // lines
	maxReadFile = 2 << 20   // bytes
	maxList     = 400       // entries
	maxHits     = 100       // lines found
	maxLine     = 400       // bytes of a line shown
	maxAnswer   = 24 * 1024 // bytes of any answer
)

// Looking returns the tools that only look: list, read and search over the tree.
func Looking(tree fs.FS) []Tool {
	return []Tool{listTool(tree), readTool(tree), searchTool(tree)}
}

// Define makes a tool whose arguments decode strictly into A: an unknown or
// wrongly typed argument is told to the model instead of being dropped.
func Define[A any](name, description, schema string, readOnly bool, run func(context.Context, A) (string, error)) Tool {
	return Tool{
		Spec:     model.ToolSpec{Name: name, Description: description, Schema: json.RawMessage(schema)},
		ReadOnly: readOnly,
		Run: func(ctx context.Context, raw json.RawMessage) (string, error) {
			var args A
			if len(bytes.TrimSpace(raw)) == 0 {
				raw = []byte("{}")
			}
			d := json.NewDecoder(bytes.NewReader(raw))
			d.DisallowUnknownFields()
			if err := d.Decode(&args); err != nil {
				return "", fmt.Errorf("arguments of %s: %w", name, err)
			}
			return run(ctx, args)
		},
	}
}

type listArgs struct {
	Path string `json:"path"`
}

func listTool(tree fs.FS) Tool {
	return Define("list", "List the files below a folder, as paths from the root of the repository.",
		`{"type":"object","properties":{"path":{"type":"string","description":"folder; empty is the root"}}}`,
		true, func(_ context.Context, a listArgs) (string, error) {
			root, err := cleanPath(a.Path)
			if err != nil {
				return "", err
			}
			var files []string
			more := 0
			err = walk(tree, root, func(name string, _ fs.DirEntry) error {
				if len(files) == maxList {
					more++
					return nil
				}
				files = append(files, name)
				return nil
			})
			if err != nil {
				return "", err
			}
			if more > 0 {
				files = append(files, fmt.Sprintf("[%d more: name a folder below]", more))
			}
			if len(files) == 0 {
				return "[empty]", nil
			}
			return strings.Join(files, "\n"), nil
		})
}

type readArgs struct {
	Path  string `json:"path"`
	Lines string `json:"lines"`
}

func readTool(tree fs.FS) Tool {
	return Define("read", fmt.Sprintf("Read a file, or lines of it, numbered. At most %d lines a call.", maxRead),
		`{"type":"object","properties":{"path":{"type":"string"},"lines":{"type":"string","description":"for example 10-40 or 10-; empty is from the start"}},"required":["path"]}`,
		true, func(_ context.Context, a readArgs) (string, error) {
			name, err := cleanPath(a.Path)
			if err != nil {
				return "", err
			}
			text, err := readText(tree, name)
			if err != nil {
				return "", err
			}
			return numbered(text, a.Lines)
		})
}

type searchArgs struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`
}

func searchTool(tree fs.FS) Tool {
	return Define("search", fmt.Sprintf("Search the files by a regular expression (RE2), line by line. At most %d hits.", maxHits),
		`{"type":"object","properties":{"pattern":{"type":"string"},"path":{"type":"string","description":"folder or file; empty is everywhere"}},"required":["pattern"]}`,
		true, func(ctx context.Context, a searchArgs) (string, error) {
			re, err := regexp.Compile(a.Pattern)
			if err != nil {
				return "", fmt.Errorf("pattern: %w", err)
			}
			root, err := cleanPath(a.Path)
			if err != nil {
				return "", err
			}
			return search(ctx, tree, root, re)
		})
}

var errEnough = errors.New("enough hits")

func search(ctx context.Context, tree fs.FS, root string, re *regexp.Regexp) (string, error) {
	var hits []string
	err := walk(tree, root, func(name string, _ fs.DirEntry) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		text, err := readText(tree, name)
		if err != nil {
			return nil // binary, too large or unreadable: not text to search
		}
		for i, line := range strings.Split(text, "\n") {
			if !re.MatchString(line) {
				continue
			}
			if len(hits) == maxHits {
				return errEnough
			}
			hits = append(hits, fmt.Sprintf("%s:%d: %s", name, i+1, cut(line)))
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		hits = append(hits, "[more hits: narrow the pattern or name a path]")
	} else if err != nil {
		return "", err
	}
	if len(hits) == 0 {
		return "[no hit]", nil
	}
	return strings.Join(hits, "\n"), nil
}

// walk visits regular files below root in a fixed order. Links are not followed.
func walk(tree fs.FS, root string, visit func(name string, d fs.DirEntry) error) error {
	return fs.WalkDir(tree, root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			if name == root {
				return err
			}
			return nil // a folder that vanished or can't be read hides nothing else
		}
		if !d.Type().IsRegular() {
			return nil
		}
		return visit(name, d)
	})
}

// cleanPath turns what a model wrote into a name of fs.FS, or says why not.
func cleanPath(p string) (string, error) {
	p = path.Clean(strings.TrimPrefix(strings.TrimSpace(p), "./"))
	if p == "" || p == "/" {
		return ".", nil
	}
	if !fs.ValidPath(p) {
		return "", fmt.Errorf("path %q leads out of the repository: name it from the root, without a leading slash", p)
	}
	return p, nil
}

func readText(tree fs.FS, name string) (string, error) {
	f, err := tree.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil {
		return "", err
	} else if !st.Mode().IsRegular() {
		return "", fmt.Errorf("%s is not a file", name)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxReadFile+1))
	switch {
	case err != nil:
		return "", err
	case len(b) > maxReadFile:
		return "", fmt.Errorf("%s is larger than %d MiB", name, maxReadFile>>20)
	case bytes.IndexByte(b, 0) >= 0:
		return "", fmt.Errorf("%s is binary", name)
	}
	return string(b), nil
}

func numbered(text, span string) (string, error) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	from, to, err := Span(span, len(lines))
	if err != nil {
		return "", err
	}
	var b strings.Builder
	n := from
	for ; n <= min(to, from+maxRead-1) && b.Len() < maxAnswer-maxLine; n++ {
		fmt.Fprintf(&b, "%d\t%s\n", n, cut(lines[n-1]))
	}
	if n <= to {
		fmt.Fprintf(&b, "[lines %d to %d not shown: ask for them]\n", n, to)
	}
	return b.String(), nil
}

// Span reads "10-40", "10-", "-40" or "10" as 1-based lines of a file with total lines.
func Span(span string, total int) (from, to int, err error) {
	from, to = 1, total
	span = strings.TrimSpace(span)
	if span == "" {
		return from, to, nil
	}
	a, b, ranged := strings.Cut(span, "-")
	if a != "" {
		if from, err = strconv.Atoi(strings.TrimSpace(a)); err != nil {
			return 0, 0, fmt.Errorf("lines %q: want for example 10-40", span)
		}
	}
	if !ranged {
		to = from
	} else if b != "" {
		if to, err = strconv.Atoi(strings.TrimSpace(b)); err != nil {
			return 0, 0, fmt.Errorf("lines %q: want for example 10-40", span)
		}
	}
	if from < 1 || from > total || to < from {
		return 0, 0, fmt.Errorf("lines %q: the file has %d lines", span, total)
	}
	return from, min(to, total), nil
}

func cut(line string) string {
	line = strings.TrimSuffix(line, "\r")
	if len(line) > maxLine {
		return strings.ToValidUTF8(line[:maxLine], "") + " [cut]"
	}
	return line
}

// bound keeps an answer's head and tail, so that neither the start nor the
// decisive last lines are lost.
func bound(s string) string {
	if len(s) <= maxAnswer {
		return s
	}
	head, tail := s[:maxAnswer*3/4], s[len(s)-maxAnswer/4:]
	return strings.ToValidUTF8(head, "") + fmt.Sprintf("\n[%d bytes left out]\n", len(s)-len(head)-len(tail)) + strings.ToValidUTF8(tail, "")
}

// specs lists the tools' descriptions in the order of their names, so that the
// prompt's prefix stays the same whatever order they were wired in.
func specs(tools []Tool) []model.ToolSpec {
	out := make([]model.ToolSpec, 0, len(tools))
	for _, t := range tools {
		out = append(out, t.Spec)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}
