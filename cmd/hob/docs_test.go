package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hob/autonomy/api"
	"hob/autonomy/config"
	channelsall "hob/channels/all"
)

// channelsText describes the keys that all channels have. The file config.md in each driver's
// folder describes the driver's own keys.
//
//go:embed testdata/channels.md
var channelsText string

//go:embed testdata/tool-names.txt
var otherToolNames string

var update = flag.Bool("update", false, "write docs/cli.md, docs/configuration.md and docs/tools.md")

// TestDocs checks that the pages generated from the code are up to date; -update writes them.
func TestDocs(t *testing.T) {
	drivers, err := driverPages()
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{"../../docs/cli.md": cliPage(), "../../docs/configuration.md": configPage() + drivers, "../../docs/tools.md": toolsPage(t)} {
		if *update {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil { //nolint:gosec // a page of documentation
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got = bytes.ReplaceAll(got, []byte("\r\n"), []byte("\n")) // a checkout on Windows
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%s is out of date; run: go test ./cmd/hob -run TestDocs -update\n%s", path, diff)
		}
	}
}

// TestHelp checks that every command has a help text, and that every help text belongs to a
// command.
func TestHelp(t *testing.T) {
	used := map[string]bool{}
	eachCommand(new(cli).rootCommand(), func(c *cobra.Command) {
		if c.Short == "" {
			t.Errorf("%s has no short text", c.CommandPath())
		}
		used[strings.ReplaceAll(c.CommandPath(), " ", "_")+".md"] = true
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" {
				t.Errorf("%s: --%s has no description", c.CommandPath(), f.Name)
			}
		})
	})
	texts, err := helpTexts.ReadDir("help")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range texts {
		if !used[f.Name()] {
			t.Errorf("help/%s belongs to no command", f.Name())
		}
	}
}

// driverPages returns config.md of each driver, and an error if a page does not describe all
// settings of its driver.
func driverPages() (string, error) {
	var b strings.Builder
	for _, d := range channelsall.Drivers() {
		about := d.Describe()
		page, err := os.ReadFile(filepath.Join("..", "..", "channels", about.Name, "config.md"))
		if err != nil {
			return "", err
		}
		text := strings.ReplaceAll(string(page), "\r\n", "\n") // a checkout on Windows
		for _, s := range about.Settings {
			if s.Key != "allow" && !strings.Contains(text, "`"+s.Key+"`") {
				return "", fmt.Errorf("channels/%s/config.md does not describe %s", about.Name, s.Key)
			}
		}
		if !strings.HasPrefix(text, "### [channels."+about.Name+"]\n") {
			return "", fmt.Errorf("channels/%s/config.md must begin with ### [channels.%[1]s]", about.Name)
		}
		b.WriteString("\n" + text)
	}
	return b.String(), nil
}

func eachCommand(c *cobra.Command, fn func(*cobra.Command)) {
	fn(c)
	for _, sub := range c.Commands() {
		if sub.Name() != "help" && sub.Name() != "completion" && !sub.Hidden {
			eachCommand(sub, fn)
		}
	}
}

func cliPage() string {
	var b strings.Builder
	b.WriteString("# Commands\n\nGenerated from the program; `hob help COMMAND` prints the same text. Update this page with\n`go test ./cmd/hob -run TestDocs -update`.\n")
	root := new(cli).rootCommand()
	eachCommand(root, func(c *cobra.Command) {
		fmt.Fprintf(&b, "\n## %s\n\n", c.CommandPath())
		text := c.Long
		if text == "" {
			text = c.Short + "."
		}
		b.WriteString(text + "\n")
		use := strings.TrimSuffix(c.UseLine(), " [flags]")
		if len(c.Commands()) > 0 {
			use = c.CommandPath() + " COMMAND"
		}
		fmt.Fprintf(&b, "\n```\n%s\n```\n", use)
		var flags []string
		c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name == "help" || f.Name == "version" {
				return
			}
			name := "--" + f.Name
			if f.Shorthand != "" {
				name = "-" + f.Shorthand + ", " + name
			}
			flags = append(flags, fmt.Sprintf("| `%s` | %s |\n", name, f.Usage))
		})
		if len(flags) > 0 {
			b.WriteString("\n| flag | meaning |\n|---|---|\n" + strings.Join(flags, ""))
		}
		if c.Example != "" {
			fmt.Fprintf(&b, "\n```sh\n%s\n```\n", strings.ReplaceAll(strings.TrimPrefix(c.Example, "  "), "\n  ", "\n"))
		}
	})
	return b.String()
}

// toolsPage describes the tools that `hob tool list` shows, and names the tools that do what other
// assistants' tools do.
func toolsPage(t *testing.T) string {
	list := fetchTools(t)
	var b strings.Builder
	b.WriteString("# Tools\n\nThe model finds these tools by [search](tools-search.md); `hob tool call NAME` runs one. The [guard](guard.md)\ndecides which calls need approval, by their effects. Generated from the program:\n`go test ./cmd/hob -run TestDocs -update`.\n")
	byCategory := map[string][]api.Tool{}
	known := map[string]bool{}
	for _, x := range list {
		byCategory[x.Category] = append(byCategory[x.Category], x)
		known[x.Name] = true
	}
	for _, category := range slices.Sorted(maps.Keys(byCategory)) {
		fmt.Fprintf(&b, "\n## %s\n\n", category)
		for _, x := range byCategory[category] {
			systems := ""
			if len(x.Platforms) < 3 {
				systems = " on " + strings.Join(x.Platforms, ", ")
			}
			fmt.Fprintf(&b, "- `%s` (%s%s): %s\n", x.Name, strings.Join(x.Effects, ", "), systems, strings.ReplaceAll(x.Description, "\n", " "))
		}
	}
	b.WriteString("\n## Names in other assistants\n\n| name elsewhere | tool |\n|---|---|\n")
	for line := range strings.Lines(otherToolNames) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, tools, other := strings.Cut(line, " = ")
		switch {
		case !other:
			tools = name
		case known[name]:
			t.Errorf("testdata/tool-names.txt: %s is a tool of Hob; write only its name", name)
		}
		if tools == "follows" {
			tools = "*follows*"
		} else {
			var quoted []string
			for tool := range strings.FieldsSeq(tools) {
				if !known[tool] {
					t.Errorf("testdata/tool-names.txt: %s: Hob has no tool %q", name, tool)
				}
				quoted = append(quoted, "`"+tool+"`")
			}
			tools = strings.Join(quoted, ", ")
		}
		fmt.Fprintf(&b, "| %s | %s |\n", name, tools)
	}
	return b.String()
}

// fetchTools returns the tools that `hob tool list` prints in an empty home.
func fetchTools(t *testing.T) (list []api.Tool) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	if err := os.Symlink(exe, filepath.Join(home, "hob")); err != nil {
		t.Skip("symbolic links cannot be created here: " + err.Error())
	}
	c := exec.CommandContext(t.Context(), filepath.Join(home, "hob"), "tool", "list", "--json")
	c.Env = append(os.Environ(), "HOME="+home, "HOB_HOME="+filepath.Join(home, "home"))
	out, err := c.Output()
	if err != nil {
		t.Fatalf("hob tool list: %v", err)
	}
	if err := json.Unmarshal(out, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

func configPage() string {
	var b strings.Builder
	b.WriteString(`# Configuration

` + "`config.toml`" + ` is at the path that ` + "`hob config path`" + ` prints. Every key is optional. An unknown key or an invalid value is an
error that names the line and the closest key; ` + "`hob config check`" + ` finds these errors, ` + "`hob config set KEY VALUE`" + ` changes a key
and keeps comments and order. Hob reads the file when it starts.

The file may contain secrets, but references are safer: ` + "`env:NAME`" + ` (an environment variable), ` + "`file:PATH`" + ` (a file only you can
read), ` + "`keychain:NAME`" + ` (the system's keychain or an encrypted file; store it with ` + "`hob secret set NAME`" + `).

This page is generated from the program: ` + "`go test ./cmd/hob -run TestDocs -update`" + `.
`)
	section := ""
	for _, k := range config.Keys() {
		i := strings.LastIndexByte(k.Name, '.')
		if s := k.Name[:i]; s != section {
			section = s
			heading := "[" + s + "]"
			if k.Many && !strings.Contains(s, "NAME") {
				heading = "[[" + s + "]], any number of times"
			}
			fmt.Fprintf(&b, "\n## %s\n\n| key | default | accepts | meaning |\n|---|---|---|---|\n", heading)
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s |\n", k.Name[i+1:], k.Default, k.Accepts, strings.ReplaceAll(k.Doc, "|", "\\|"))
	}
	b.WriteString("\n" + channelsText)
	return b.String()
}

// TestLinks checks that the targets of all links in the pages exist.
func TestLinks(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	link := regexp.MustCompile(`\]\(([^)#:]+)\)`)
	for _, p := range append(pages, "../../README.md", "../../CONTRIBUTING.md") {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(b), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(p), m[1])); err != nil {
				t.Errorf("%s points to %s: %v", p, m[1], err)
			}
		}
	}
}
