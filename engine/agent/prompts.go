package agent

import (
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"
	"text/template"

	"hob/engine/edit"
	"hob/engine/model"
)

//go:embed prompts/*.md
var promptFiles embed.FS

// Class says how much guidance a model gets.
type Class string

const (
	// Full is for models with a window of 64k tokens and more.
	Full Class = "full"
	// Compact is for small windows, where the long text would crowd out the code.
	Compact Class = "compact"
)

// compactBelow is the window, in tokens, under which the long system prompt
// would take more than a fiftieth of it.
const compactBelow = 64_000

// ClassOf picks the prompt for a model with that context window in tokens; 0 is unknown and counts as small.
func ClassOf(window int) Class {
	if window < compactBelow {
		return Compact
	}
	return Full
}

// Prompts renders every text hob sends to a model. The zero value is the full set.
type Prompts struct {
	Class  Class
	System string // replaces the built-in system prompt; same template fields
}

// An Item is what the model is told about the TODO item.
type Item struct {
	Path, Section, Text, Body string
	Criteria                  []string // open children: all must hold
	Checks                    string   // names of the required validators
	BaseRed                   string   // failures the base had already
	Before                    string   // how an earlier attempt ended
}

// Rules is one house-rules file of the base commit.
type Rules struct{ Path, Text string }

func render(name string, data any) string {
	text, err := promptFiles.ReadFile("prompts/" + name + ".md")
	if err != nil {
		panic(fmt.Sprintf("agent: prompt %q: %v", name, err))
	}
	out, err := execute(name, string(text), data)
	if err != nil {
		panic(fmt.Sprintf("agent: prompt %q: %v", name, err))
	}
	return out
}

func execute(name, text string, data any) (string, error) {
	t, err := template.New(name).Option("missingkey=error").Parse(text)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if err := t.Execute(&b, data); err != nil {
		return "", err
	}
	return b.String(), nil
}

func formatHelp(f edit.Format) string {
	if f == edit.FullFile {
		return render("format_full_file", nil)
	}
	return render("format_search_replace", nil)
}

// Check reports whether a replacement system prompt renders, so that a typing
// error in it is found before money is spent.
func (p Prompts) Check() error {
	if p.System == "" {
		return nil
	}
	_, err := execute("system_prompt_file", p.System, systemFields{})
	return err
}

type systemFields struct{ Own, Format, TextTools string }

// system is the first message: the system prompt, then the house rules. It holds
// no time, id or path of this run, so that providers can cache it across runs.
func (p Prompts) system(own []string, f edit.Format, tools []model.ToolSpec, native bool, rules []Rules) string {
	fields := systemFields{Own: strings.Join(own, " and "), Format: strings.TrimRight(formatHelp(f), "\n")}
	if !native {
		fields.TextTools = strings.TrimRight(textTools(tools), "\n")
	}
	var b strings.Builder
	switch {
	case p.System != "":
		out, err := execute("system_prompt_file", p.System, fields)
		if err != nil {
			out = p.System // Check has refused it already; a prompt is better than none
		}
		b.WriteString(out)
	case p.Class == Compact:
		b.WriteString(render("system_compact", fields))
	default:
		b.WriteString(render("system", fields))
	}
	for _, r := range rules {
		b.WriteString("\n" + render("rules", r))
	}
	return b.String()
}

func textTools(tools []model.ToolSpec) string {
	type line struct{ Name, Params, Description string }
	lines := make([]line, 0, len(tools))
	for _, t := range tools {
		lines = append(lines, line{t.Name, strings.Join(paramNames(t.Schema), ", "), t.Description})
	}
	return render("text_tools", map[string]any{"Tools": lines})
}

// paramNames lists a JSON schema's properties, required ones first, optional ones with a question mark.
func paramNames(schema json.RawMessage) []string {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if err := json.Unmarshal(schema, &s); err != nil {
		return nil
	}
	names := append([]string(nil), s.Required...)
	var optional []string
	for n := range s.Properties {
		if !slices.Contains(s.Required, n) {
			optional = append(optional, n+"?")
		}
	}
	sort.Strings(optional)
	return append(names, optional...)
}
