package main

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"hob/configs"
	"hob/engine"
	"hob/engine/todo"
)

func todoCmd(w *world) *cobra.Command {
	return group(plumb, "todo", "read TODO files as hob does", todoListCmd(w), todoDiffCmd(w))
}

func todoListCmd(w *world) *cobra.Command {
	var file string
	c := &cobra.Command{
		Use: "list", Short: "list the items of TODO.md with what is wrong with them", Args: exactly(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			data, budget, err := w.todoData(cmd, file)
			if err != nil {
				return err
			}
			doc := todo.Parse(data)
			for i := range doc.Items {
				if it := &doc.Items[i]; it.Blocked == "" && budget != nil {
					if it.Why = engine.Unfit(*it, *budget); it.Why != "" {
						it.Blocked = todo.BadAttr
					}
				}
			}
			if doc.TooLarge {
				return withHint(fmt.Errorf("%w: larger than 1 MiB or 20,000 lines", engine.ErrTodo), "split the file; hob keeps its last good queue meanwhile")
			}
			if w.json {
				items := doc.Items
				if items == nil {
					items = []todo.Item{}
				}
				return w.printJSON(map[string]any{"schema": "hob.todo/1", "items": items, "diagnostics": doc.Diagnostics})
			}
			w.printTodo(doc)
			return nil
		},
	}
	c.Flags().StringVar(&file, "file", "", "read `F` instead of the repository's TODO.md; - is standard input")
	return c
}

// todoData is the text of a file, or of the repository's TODO file together with the
// budget that its items have to fit.
func (w *world) todoData(cmd *cobra.Command, file string) ([]byte, *configs.Budget, error) {
	switch file {
	case "-":
		data, err := io.ReadAll(io.LimitReader(w.In, maxFile))
		return data, nil, err
	case "":
		s, err := w.site(cmd.Context())
		if err != nil {
			return nil, nil, err
		}
		data, err := readTodo(filepath.Join(s.place.Root, filepath.FromSlash(s.config.Autonomous.TodoPath)))
		return data, &s.config.Budget, err
	}
	data, err := readTodo(file)
	return data, nil, err
}

func readTodo(file string) ([]byte, error) {
	data, err := readRegular(file)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", engine.ErrTodo, err)
	}
	return data, nil
}

func (w *world) printTodo(doc todo.Doc) {
	for _, it := range doc.Items {
		box := "[ ]"
		if it.Done {
			box = "[x]"
		}
		w.printf("%4d  %s  %*s%s %s\n", it.Line, it.ID, 2*it.Depth, "", box, plain(it.Text))
		if it.Blocked != "" {
			w.printf("      %s: %s\n", it.Blocked, plain(it.Why))
		}
	}
	for _, d := range doc.Diagnostics {
		w.printf("%4d  %s: %s\n", d.Line, d.Code, plain(d.Message))
	}
}

func todoDiffCmd(w *world) *cobra.Command {
	return &cobra.Command{
		Use: "diff OLD NEW", Short: "tell which items of two versions are the same", Args: exactly(2),
		RunE: func(_ *cobra.Command, args []string) error {
			var docs [2]todo.Doc
			for i, name := range args {
				data, err := readTodo(name)
				if err != nil {
					return err
				}
				docs[i] = todo.Parse(data)
			}
			d := todo.Diff(docs[0], docs[1])
			if w.json {
				return w.printJSON(deltaJSON(d))
			}
			w.printDelta(docs[0], docs[1], d)
			return nil
		},
	}
}

// deltaJSON holds indexes into the two lists of items, empty lists included.
func deltaJSON(d todo.Delta) map[string]any {
	pairs := func(p [][2]int) [][2]int { return append([][2]int{}, p...) }
	list := func(l []int) []int { return append([]int{}, l...) }
	return map[string]any{
		"schema": "hob.tododiff/1", "same": pairs(d.Same), "renamed": pairs(d.Renamed), "gone": list(d.Gone), "new": list(d.New),
	}
}

func (w *world) printDelta(old, now todo.Doc, d todo.Delta) {
	for _, p := range d.Same {
		w.printf("same     %s  %s\n", now.Items[p[1]].ID, plain(now.Items[p[1]].Text))
	}
	for _, p := range d.Renamed {
		w.printf("renamed  %s  %s\n      to %s  %s\n", old.Items[p[0]].ID, plain(old.Items[p[0]].Text), now.Items[p[1]].ID, plain(now.Items[p[1]].Text))
	}
	for _, i := range d.Gone {
		w.printf("gone     %s  %s\n", old.Items[i].ID, plain(old.Items[i].Text))
	}
	for _, i := range d.New {
		w.printf("new      %s  %s\n", now.Items[i].ID, plain(now.Items[i].Text))
	}
}
