package main_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// layers is the order of the packages: each may import those of the lines
// above its own. A new package is a word here.
var layers = []string{
	"journal/redact journal/durable configs engine/todo engine/edit",
	"journal repo validators/sandbox validators/digest engine/schedule engine/model engine/task",
	"repo/repomap validators journal/capsule engine/model/wire engine/model/wire/wiretest engine/status",
	"taste engine/agent",
	"engine engine/control engine/notify",
	"engine/eval",
	"cmd/hob",
}

// doors names the packages through which a module comes in, so that swapping
// it is a change to them alone. A module without a door is refused.
var doors = map[string]string{
	"github.com/aymanbagabas/go-udiff":   "repo",
	"github.com/bmatcuk/doublestar/v4":   "validators",
	"github.com/fsnotify/fsnotify":       "engine/schedule",
	"github.com/go-git/go-billy/v5":      "repo",
	"github.com/go-git/go-git/v5":        "repo",
	"github.com/go-json-experiment/json": "journal",
	"github.com/lmittmann/tint":          "cmd/hob",
	"github.com/mattn/go-isatty":         "cmd/hob",
	"github.com/oklog/ulid/v2":           "journal",
	// The configuration, the scripted model's script, the status file.
	"github.com/pelletier/go-toml/v2": "configs engine/model engine/status",
	"github.com/robfig/cron/v3":       "engine/schedule",
	"github.com/spf13/cobra":          "cmd/hob",
	"github.com/spf13/pflag":          "cmd/hob",
	"golang.org/x/mod":                "journal",
	"golang.org/x/sync":               "cmd/hob",
	"golang.org/x/sys":                "*",
	"golang.org/x/tools/txtar":        "cmd/hob",
}

// testDoors are for tests only.
var testDoors = map[string]string{
	"github.com/google/go-cmp":                   "*",
	"github.com/rogpeppe/go-internal/testscript": "cmd/hob",
	"pgregory.net/rapid":                         "*",
}

// goroutines are where the keyword go may stand outside tests. Everything else
// works on the goroutine of its caller.
var goroutines = map[string]bool{
	"engine":             true, // slots
	"engine/control":     true, // requests and their streams
	"engine/model/wire":  true, // the watchdog of a stream
	"journal":            true, // the writer
	"repo/repomap":       true, // the pipes of the parsing child
	"validators/sandbox": true, // pumps, proxy, services
	"cmd/hob":            true, // the signals of a service
}

// A source is one parsed Go file of the module.
type source struct {
	dir  string // of its package, slash-separated, "." at the root
	name string
	test bool
	file *ast.File
}

// A module is all Go files of this one, for any system and with any tag.
type module struct {
	*token.FileSet

	path    string
	sources []source
}

func load(t *testing.T) module {
	t.Helper()
	root := filepath.Join("..", "..")
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(mod), "\n")
	m := module{FileSet: token.NewFileSet(), path: strings.TrimPrefix(first, "module ")}
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != root && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go"):
			return nil
		}
		file, err := parser.ParseFile(m.FileSet, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		m.sources = append(m.sources, source{
			dir: path.Dir(rel), name: rel, test: strings.HasSuffix(rel, "_test.go"), file: file,
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(m.sources) < 20 {
		t.Fatalf("found %d files: this is not the module", len(m.sources))
	}
	return m
}

// at is a place as editors print it.
func (m module) at(s source, p token.Pos) string {
	return fmt.Sprintf("%s:%d", s.name, m.Position(p).Line)
}

// each calls f for every node of the sources that keep says yes to.
func (m module) each(keep func(source) bool, f func(source, ast.Node)) {
	for _, s := range m.sources {
		if !keep(s) {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if n != nil {
				f(s, n)
			}
			return true
		})
	}
}

func all(source) bool      { return true }
func isTest(s source) bool { return s.test }
func isCode(s source) bool { return !s.test }

// layer is the line of a package in layers, from 0; -1 when it has none.
func layer(dir string) int {
	return slices.IndexFunc(layers, func(line string) bool { return slices.Contains(strings.Fields(line), dir) })
}

func TestImportsGoDown(t *testing.T) {
	m := load(t)
	for _, s := range m.sources {
		own := layer(s.dir)
		if own < 0 {
			t.Errorf("%s: package %s stands in no layer", s.name, s.dir)
			continue
		}
		for _, spec := range s.file.Imports {
			dir, ours := strings.CutPrefix(importPath(t, spec), m.path+"/")
			if !ours || dir == s.dir {
				continue
			}
			// A test may also use the doubles beside its own package.
			if at := layer(dir); at < 0 || at > own || at == own && !s.test {
				t.Errorf("%s: %s may not import %s", m.at(s, spec.Pos()), s.dir, dir)
			}
		}
	}
}

func TestModulesComeThroughTheirDoors(t *testing.T) {
	m := load(t)
	for _, s := range m.sources {
		for _, spec := range s.file.Imports {
			name := importPath(t, spec)
			host, _, _ := strings.Cut(name, "/")
			if name == m.path || strings.HasPrefix(name, m.path+"/") || !strings.Contains(host, ".") {
				continue // ours, or the standard library's
			}
			allowed := door(doors, name)
			if s.test {
				allowed = append(allowed, door(testDoors, name)...)
			}
			if !slices.Contains(allowed, s.dir) && !slices.Contains(allowed, "*") {
				t.Errorf("%s: %s comes in through %v, not through %s", m.at(s, spec.Pos()), name, allowed, s.dir)
			}
		}
	}
}

// door returns the packages that may import name.
func door(table map[string]string, name string) []string {
	for ; name != "."; name = path.Dir(name) {
		if dirs, ok := table[name]; ok {
			return strings.Fields(dirs)
		}
	}
	return nil
}

func TestPackageNamesSayWhatTheyDo(t *testing.T) {
	vague := []string{"internal", "util", "utils", "common", "helper", "helpers", "types", "base", "misc", "shared"}
	for _, s := range load(t).sources {
		for _, word := range append(strings.Split(s.dir, "/"), s.file.Name.Name) {
			if slices.Contains(vague, word) {
				t.Errorf("%s: the name %q says nothing", s.name, word)
			}
		}
	}
}

func TestNothingRunsBeforeMain(t *testing.T) {
	m := load(t)
	m.each(all, func(s source, n ast.Node) {
		if f, ok := n.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
			t.Errorf("%s: func init", m.at(s, n.Pos()))
		}
	})
	for _, s := range m.sources {
		for _, spec := range s.file.Imports {
			if name := importPath(t, spec); spec.Name != nil && spec.Name.Name == "_" && name != "embed" && name != "time/tzdata" {
				t.Errorf("%s: import of %s for its side effects", m.at(s, spec.Pos()), name)
			}
		}
	}
}

func TestGoroutines(t *testing.T) {
	m := load(t)
	m.each(isCode, func(s source, n ast.Node) {
		g, ok := n.(*ast.GoStmt)
		if !ok {
			return
		}
		if !goroutines[s.dir] {
			t.Errorf("%s: %s starts no goroutines", m.at(s, n.Pos()), s.dir)
		}
		if !m.saysWhoWaits(s, g) {
			t.Errorf("%s: no comment on this line, or the one above, says who waits", m.at(s, n.Pos()))
		}
	})
}

func (m module) saysWhoWaits(s source, g *ast.GoStmt) bool {
	line := m.Position(g.Pos()).Line
	for _, group := range s.file.Comments {
		first, last := m.Position(group.Pos()).Line, m.Position(group.End()).Line
		if first <= line && line <= last+1 && strings.Contains(group.Text(), "wait") {
			return true
		}
	}
	return false
}

func TestTestsDoNotSleep(t *testing.T) {
	m := load(t)
	m.each(isTest, func(s source, n ast.Node) {
		if name, of := selector(n); of == "time" && name == "Sleep" {
			t.Errorf("%s: wait on a channel, or use testing/synctest", m.at(s, n.Pos()))
		}
	})
}

// TestLoggersAreHandedIn: a logger is a field, so that its output is redacted
// and a test can read it.
func TestLoggersAreHandedIn(t *testing.T) {
	global := []string{
		"Default", "SetDefault", "SetLogLoggerLevel", "With", "Log", "LogAttrs", "Debug", "DebugContext",
		"Info", "InfoContext", "Warn", "WarnContext", "Error", "ErrorContext",
	}
	m := load(t)
	m.each(isCode, func(s source, n ast.Node) {
		name, of := selector(n)
		if of == "slog" && slices.Contains(global, name) || of == "log" && imports(t, s, "log") {
			t.Errorf("%s: %s.%s is the logger of the whole process", m.at(s, n.Pos()), of, name)
		}
	})
}

// TestErrorsAreNotReadAsText: branch with errors.Is and errors.As. Only repo
// reads what git says, in one table.
func TestErrorsAreNotReadAsText(t *testing.T) {
	m := load(t)
	m.each(isCode, func(s source, n ast.Node) {
		call, ok := n.(*ast.CallExpr)
		if !ok || s.name == "repo/gitsays.go" {
			return
		}
		name, of := selector(call.Fun)
		if of != "strings" || !slices.Contains([]string{"Contains", "HasPrefix", "HasSuffix", "EqualFold", "Index"}, name) {
			return
		}
		for _, arg := range call.Args {
			inner, ok := arg.(*ast.CallExpr)
			if !ok {
				continue
			}
			if sel, ok := inner.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Error" && len(inner.Args) == 0 {
				t.Errorf("%s: an error is read as text", m.at(s, n.Pos()))
			}
		}
	})
}

// TestPackageVariablesDoNotChange: what is declared at the top of a file is a
// table, an error or a pattern. It is set where it is declared and nowhere else.
func TestPackageVariablesDoNotChange(t *testing.T) {
	m := load(t)
	packages := map[string][]source{}
	for _, s := range m.sources {
		if isCode(s) {
			packages[s.dir] = append(packages[s.dir], s)
		}
	}
	std := importer.ForCompiler(m.FileSet, "source", nil)
	for dir, sources := range packages {
		var files []*ast.File
		for _, s := range sources {
			files = append(files, s.file)
		}
		// Imports of other modules stay unknown and files for other systems
		// clash: both are errors that leave the names of this package resolved.
		info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
		conf := types.Config{Importer: only{std}, Error: func(error) {}, FakeImportC: true}
		pkg, _ := conf.Check(dir, m.FileSet, files, info)
		v := variables{t: t, m: m, pkg: pkg, info: info}
		for _, s := range sources {
			v.declared(s)
			v.assigned(s)
		}
	}
}

// only imports the packages whose types say that a variable of them changes.
type only struct{ std types.Importer }

func (o only) Import(name string) (*types.Package, error) {
	if name == "sync" || name == "sync/atomic" {
		return o.std.Import(name)
	}
	return nil, fmt.Errorf("%s is not needed here", name)
}

type variables struct {
	t    *testing.T
	m    module
	pkg  *types.Package
	info *types.Info
}

// declared refuses variables that are there to change.
func (v variables) declared(s source) {
	for _, d := range s.file.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, spec := range g.Specs {
			for _, name := range spec.(*ast.ValueSpec).Names {
				if obj := v.info.Defs[name]; obj != nil && changes(obj.Type()) {
					v.t.Errorf("%s: package variable %s of type %s is there to change", v.m.at(s, name.Pos()), name.Name, obj.Type())
				}
			}
		}
	}
}

func changes(t types.Type) bool {
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	if _, ok := t.Underlying().(*types.Chan); ok {
		return true
	}
	named, ok := t.(*types.Named)
	return ok && named.Obj().Pkg() != nil && slices.Contains([]string{"sync", "sync/atomic"}, named.Obj().Pkg().Path())
}

// assigned refuses statements that change a package variable, or hand out its
// address so that others can.
func (v variables) assigned(s source) {
	refuse := func(at ast.Expr, how string) {
		if id := root(at); id != nil {
			if obj, ok := v.info.Uses[id].(*types.Var); ok && v.pkg != nil && obj.Parent() == v.pkg.Scope() {
				v.t.Errorf("%s: package variable %s is %s", v.m.at(s, at.Pos()), id.Name, how)
			}
		}
	}
	ast.Inspect(s.file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				refuse(left, "assigned")
			}
		case *ast.IncDecStmt:
			refuse(n.X, "changed")
		case *ast.RangeStmt:
			for _, left := range []ast.Expr{n.Key, n.Value} {
				if left != nil && n.Tok == token.ASSIGN {
					refuse(left, "assigned")
				}
			}
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				refuse(n.X, "handed out by its address")
			}
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.Ident); ok && slices.Contains([]string{"delete", "clear", "copy"}, f.Name) && len(n.Args) > 0 {
				refuse(n.Args[0], "changed")
			}
		}
		return true
	})
}

// root is the variable that a place belongs to: x of x.f[i].
func root(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return nil
		}
	}
}

// selector takes a node of the form of.name apart.
func selector(n ast.Node) (name, of string) {
	sel, ok := n.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	if id, ok := sel.X.(*ast.Ident); ok {
		return sel.Sel.Name, id.Name
	}
	return sel.Sel.Name, ""
}

func imports(t *testing.T, s source, name string) bool {
	t.Helper()
	return slices.ContainsFunc(s.file.Imports, func(spec *ast.ImportSpec) bool { return importPath(t, spec) == name })
}

func importPath(t *testing.T, spec *ast.ImportSpec) string {
	t.Helper()
	name, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		t.Fatal(err)
	}
	return cmp.Or(name, "empty import")
}
