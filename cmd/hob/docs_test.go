package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"hob/engine/task"
)

const readme = "../../README.md"

// TestReadmeReasons keeps README's table of reasons the one that hob prints.
func TestReadmeReasons(t *testing.T) {
	var want strings.Builder
	want.WriteString("| reason | what to do |\n|---|---|\n")
	var later []string
	for _, r := range task.Reasons() {
		if r.Reserved() {
			later = append(later, "`"+string(r)+"`")
			continue
		}
		fmt.Fprintf(&want, "| `%s` | %s |\n", r, strings.ReplaceAll(r.Hint(), "|", `\|`))
	}
	fmt.Fprintf(&want, "\nReserved, and not given by this version: %s.\n", strings.Join(later, ", "))
	text := string(read(t, readme))
	before, rest, ok := strings.Cut(text, "<!-- reasons -->\n")
	got, after, closed := strings.Cut(rest, "<!-- /reasons -->")
	if !ok || !closed {
		t.Fatal("README has no table of reasons")
	}
	if os.Getenv("HOB_TEST_UPDATE") != "" {
		put(t, readme, before+"<!-- reasons -->\n"+want.String()+"<!-- /reasons -->"+after)
		return
	}
	if diff := cmp.Diff(want.String(), got); diff != "" {
		t.Errorf("README's reasons (-want +got):\n%s", diff)
	}
}

// TestReadmeCommands wants every command in README, and in README no other.
func TestReadmeCommands(t *testing.T) {
	text := string(read(t, readme))
	known := map[string]bool{}
	walkCommands(newRoot(&world{}), func(c *cobra.Command) {
		path := strings.TrimPrefix(c.CommandPath(), "hob ")
		known[strings.Fields(path)[0]] = true
		if c.Runnable() && !c.HasSubCommands() && !strings.Contains(text, "`"+path) {
			t.Errorf("README doesn't name hob %s", path)
		}
	})
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, "    hob ")
		if ok && !known[strings.Fields(rest)[0]] {
			t.Errorf("README has a command that isn't there: %s", line)
		}
	}
}

// TestHintsNameCommands wants the commands in hints to exist.
func TestHintsNameCommands(t *testing.T) {
	paths := map[string]bool{}
	walkCommands(newRoot(&world{}), func(c *cobra.Command) { paths[c.CommandPath()] = true })
	for _, r := range task.Reasons() {
		for i, part := range strings.Split(r.Hint(), "`") {
			if i%2 == 0 || !strings.HasPrefix(part, "hob ") {
				continue
			}
			name := strings.TrimSuffix(part, " TASK")
			if !paths[name] {
				t.Errorf("the hint of %s names %q, which isn't there", r, part)
			}
		}
	}
}

func walkCommands(c *cobra.Command, visit func(*cobra.Command)) {
	for _, sub := range c.Commands() {
		if sub.Name() == "help" {
			continue
		}
		visit(sub)
		walkCommands(sub, visit)
	}
}
