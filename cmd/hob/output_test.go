package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"hob/channels/web/apiclient"
)

func TestOutput_StoresPicturesAsFiles(t *testing.T) {
	dir := t.TempDir()
	var out bytes.Buffer
	p := &pictureExtractor{to: &out, dir: filepath.Join(dir, "pics"), beside: dir}
	const text = "# a\n\n![picture](data:image/png;base64,cG5n)\n````\n![picture](data:image/png;base64,cG5n)\n```\n````\nend ![picture](data:image/png;base64,cG5n)\n![picture](data:image/gif;base64,Z2lm)\nlast"
	for i := 0; i < len(text); i += 7 { // write the text in small pieces
		if _, err := p.Write([]byte(text[i:min(i+7, len(text))])); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.flushLine(); err != nil {
		t.Fatal(err)
	}
	const want = "# a\n\n![picture](pics/picture-1.png)\n````\n![picture](data:image/png;base64,cG5n)\n```\n````\nend ![picture](data:image/png;base64,cG5n)\n![picture](pics/picture-2.gif)\nlast"
	if out.String() != want {
		t.Errorf("%s", out.String())
	}
	for name, want := range map[string]string{"picture-1.png": "png", "picture-2.gif": "gif"} {
		if b, err := os.ReadFile(filepath.Join(dir, "pics", name)); err != nil || string(b) != want {
			t.Errorf("%s contains %q, %v", name, b, err)
		}
	}
	again := &pictureExtractor{to: &out, dir: filepath.Join(dir, "pics"), beside: dir}
	if _, err := again.Write([]byte("![picture](data:image/png;base64,cG5n)\n")); err == nil {
		t.Error("a picture was overwritten")
	}
}

func TestOutput_ProgressLine(t *testing.T) {
	third := 30
	none := 0
	for name, tc := range map[string]struct {
		tool     string
		progress apiclient.Progress
		want     string
	}{
		"only the time":           {"read_page", apiclient.Progress{Seconds: 15}, "read page: 15 s"},
		"a percentage and a note": {"crawl", apiclient.Progress{Seconds: 45, Percent: &third, Note: "page 3\nof 10"}, "crawl: 45 s, 30 %, page 3 of 10"},
		"zero percent":            {"crawl", apiclient.Progress{Percent: &none}, "crawl: 0 s, 0 %"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := progressLine(tc.tool, tc.progress); got != tc.want {
				t.Errorf("progressLine = %q, want %q", got, tc.want)
			}
		})
	}
}

// A value is a string unless it has the syntax of another type.
func TestWatcherOf(t *testing.T) {
	for set, want := range map[string]string{
		`from=100`:        `{"from":"100"}`,
		`to=null`:         `{"to":"null"}`,
		`select=#price`:   `{"select":"#price"}`,
		`words=["a"]`:     `{"words":["a"]}`,
		`from="100"`:      `{"from":"100"}`,
		`per_day=3`:       `{"per_day":3}`,
		`recursive=true`:  `{"recursive":true}`,
		`from=a=b, "c" d`: `{"from":"a=b, \"c\" d"}`,
	} {
		c := &cobra.Command{}
		watcherFlags(c)
		if err := c.ParseFlags([]string{"--kind", "page", "--set", set}); err != nil {
			t.Fatal(err)
		}
		in, err := watcherOf(c, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(in["config"]); err != nil || string(got) != want {
			t.Errorf("%s: Marshal = %s, %v", set, got, err)
		}
	}
}

// Help fits a window of 60 columns. Only examples and words that cannot be broken are longer.
func TestHelp_FitsTheWindow(t *testing.T) {
	eachCommand(new(cli).rootCommand(), func(c *cobra.Command) {
		c.InitDefaultHelpFlag()
		for _, width := range []int{60, 80} {
			text := wrapHelp(c, width)
			before, examples, _ := strings.Cut(text, "\nExamples:\n")
			_, after, _ := strings.Cut(examples, "\n\n")
			for line := range strings.Lines(before + "\n" + after) {
				line = strings.TrimSuffix(line, "\n")
				if ansi.StringWidth(line) > width && strings.Contains(strings.TrimSpace(line), " ") {
					t.Errorf("%s: line of %d columns in a window of %d: %q", c.CommandPath(), ansi.StringWidth(line), width, line)
				}
			}
			if words, want := strings.Fields(text), strings.Fields(wrapHelp(c, 0)); !slices.Equal(words, want) {
				t.Errorf("%s: help for %d columns has other words than in a pipe", c.CommandPath(), width)
			}
		}
	})
}

// A manual page fits a terminal of 80 columns. Only examples may be wider, because they are copied.
func TestManual_FitsTerminal(t *testing.T) {
	unescape := strings.NewReplacer(`\-`, "-", `\e`, `\`, `\&`, "")
	var check func(c *cobra.Command)
	check = func(c *cobra.Command) {
		page, _, _ := strings.Cut(manPage(c), ".SH EXAMPLES")
		_, body, _ := strings.Cut(page, "\n.nf\n") // above it, man wraps the lines
		for line := range strings.Lines(unescape.Replace(body)) {
			if n := ansi.StringWidth(strings.TrimSuffix(line, "\n")); n > 73 {
				t.Errorf("%s: a line has %d columns, want at most 73 beside the indentation: %q", pageName(c), n, line)
			}
		}
		for _, sub := range c.Commands() {
			check(sub)
		}
	}
	check((&cli{}).rootCommand())
}
