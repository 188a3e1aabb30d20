package repo

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	llmall "hob/autonomy/llm/all"
	channelsall "hob/channels/all"
	pimall "hob/platform/pim/all"
	watchersall "hob/watchers/all"
)

// everydayNames are names of drivers that are also words, or kinds of events. They count only in keys
// such as channels.email and kind = "email".
const everydayNames = "desktop email notes reminders calendar cron feed file intent message page search webhook"

// driverNameExceptions are the files and folders that may name drivers, each with its reason.
var driverNameExceptions = map[string]string{
	"channels/all":                          "the list of the drivers",
	"watchers/all":                          "the list of the drivers",
	"autonomy/llm/all":                      "the list of the drivers",
	"platform/pim":                          "the family of the account kinds; their names are constants of the contract",
	"watchers/words.go":                     "ParseSchedule chooses between the two timed kinds, whose names belong to the contract",
	"templates/template.go":                 "rejects the timed kinds of package watchers, which it cannot import",
	"templates/builtin":                     "configuration, in which a user chooses kinds",
	"channels/web":                          "Hob's own OpenAI-compatible API",
	"cmd/hob/internal/bench":                "measures certain drivers",
	"cmd/hob/internal/simulate/mail.go":     "a mail server for tests speaks IMAP to any driver",
	"cmd/hob/internal/simulate/calendar.go": "a calendar server for tests speaks CalDAV to any driver",
	"cmd/hob/internal/simulate/world.go":    "the names of these two servers",
	"platform/host/abilities":               "protocols and apps of the machine in a table for the user",
	"platform/host/command":                 "programs on the machine",
	"platform/host/denypaths":               "folders of programs on the machine",
	"platform/text/redact/shapes.go":        "forms of secrets of well-known services",
	"platform/text/injection":               "words in attacks",
	"platform/text/triples":                 "words in sentences of the user",
	"tools/social":                          "reads the database of the Messages app also without the channel, and needs the protocol IMAP",
	"tools/mcp/servers":                     "well-known MCP servers, which are no drivers",
	"tools/synonyms.txt":                    "words in sentences of the user",
	"tools/files/render.go":                 "URL schemes of programs on the machine",
}

// TestDriverNames checks that code outside the drivers uses drivers only through Describe, so that
// adding or removing a driver touches one package.
func TestDriverNames(t *testing.T) {
	names, folders := driverNames()
	var literal []string
	for _, n := range names {
		if !slices.Contains(strings.Fields(everydayNames), n) {
			literal = append(literal, regexp.QuoteMeta(n))
		}
	}
	word := regexp.MustCompile(`(?i)(?:^|[^a-z0-9])(` + strings.Join(literal, "|") + `)(?:[^a-z0-9]|$)`)
	key := regexp.MustCompile(`(?:channels|providers)\.(` + strings.Join(names, "|") + `)\b|kind ?[=:] ?\\?"(` + strings.Join(names, "|") + `)\b`)
	used := map[string]bool{}
	allowed := func(file string) bool {
		for at := range driverNameExceptions {
			if file == at || strings.HasPrefix(file, at+"/") {
				used[at] = true
				return true
			}
		}
		return false
	}
	set := token.NewFileSet()
	err := filepath.WalkDir(root, func(at string, e fs.DirEntry, err error) error {
		file := strings.TrimPrefix(filepath.ToSlash(at), root+"/")
		dir := path.Dir(file)
		switch {
		case err != nil:
			return err
		case e.IsDir() && (strings.HasPrefix(e.Name(), ".") && at != root || slices.Contains([]string{"testdata", "bin", "docs", "help"}, e.Name()) || strings.HasSuffix(e.Name(), "test") || slices.Contains(folders, file)):
			return fs.SkipDir
		case e.IsDir(), strings.HasSuffix(file, "_test.go"), dir == ".":
			return nil
		}
		for _, text := range driverTexts(t, set, at) {
			hit := ""
			switch m := key.FindString(text); {
			case m != "":
				hit = m
			default:
				if m := word.FindStringSubmatch(text); m != nil {
					hit = m[1]
				}
			}
			if imported, ok := strings.CutPrefix(text, module); ok {
				hit = ""
				if slices.Contains(folders, imported) {
					hit = imported
				}
			}
			if hit != "" && !allowed(file) {
				t.Errorf("%s names the driver %s in %.120q: take it from Describe, or add an exception with its reason", file, hit, text)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for at := range driverNameExceptions {
		if !used[at] {
			t.Errorf("the exception for %s is not needed", at)
		}
	}
}

// driverNames returns the names of all drivers, and the folders of their packages.
func driverNames() (names, folders []string) {
	for _, n := range channelsall.Drivers() {
		names = append(names, n.Describe().Name)
		folders = append(folders, "channels/"+n.Describe().Name)
	}
	for _, n := range watchersall.KindNames() {
		names = append(names, n)
		folders = append(folders, "watchers/"+n)
	}
	for _, n := range llmall.Kinds() {
		names = append(names, n)
		folders = append(folders, "autonomy/llm/"+n)
	}
	for _, s := range llmall.Services() {
		names = append(names, s.Name)
	}
	for _, s := range llmall.LocalServers() {
		names = append(names, s.Name)
	}
	names = append(names, pimall.Keys()...)
	folders = append(folders, "autonomy/llm/offline")
	slices.Sort(names)
	return slices.Compact(names), folders
}

// driverTexts returns what a file says to the program, the user or the model: the literals of Go code
// and the whole text of embedded files, without comments.
func driverTexts(t *testing.T, set *token.FileSet, at string) (out []string) {
	t.Helper()
	switch filepath.Ext(at) {
	case ".go":
		file, err := parser.ParseFile(set, at, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
				text, err := strconv.Unquote(l.Value)
				if err != nil {
					t.Fatal(err)
				}
				if !strings.Contains(text, "github.com/") { // an import or a reference to a project
					out = append(out, text)
				}
			}
			return true
		})
	case ".md", ".txt", ".tmpl", ".toml":
		text, err := os.ReadFile(at)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if !strings.HasPrefix(line, "#") {
				out = append(out, strings.TrimSpace(line))
			}
		}
	}
	return out
}
