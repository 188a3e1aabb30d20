package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/creack/pty"
)

// pictureCommands are the commands in the picture of README.md.
var pictureCommands = [][]string{
	{"ask", "remind me tomorrow at 9 to call the plumber"},
	{"ask", "add water the plants to my tasks"},
	{"task", "add", "send the tax return", "--due", "today", "--priority", "high"},
	{"task", "list"},
	{"ask", "spent 12.50 on lunch"},
	{"undo"},
}

const (
	picturePath    = "../../docs/terminal.svg"
	pictureColumns = 76
)

// TestPicture_ShowsTheProgram checks that the picture in README.md shows what the program prints on a
// terminal. -update draws it again.
func TestPicture_ShowsTheProgram(t *testing.T) {
	home := t.TempDir()
	for _, d := range []string{"user", "hob"} {
		if err := os.MkdirAll(filepath.Join(home, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	conf := "[agent]\nmodel = \"offline\"\ntimezone = \"UTC\"\ncurrency = \"EUR\"\n\n[web]\nlisten = \"127.0.0.1:0\"\n"
	if err := os.WriteFile(filepath.Join(home, "hob", "config.toml"), []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	var screen strings.Builder
	for _, args := range pictureCommands {
		fmt.Fprintf(&screen, "\x1b[32m$\x1b[0m \x1b[1mhob %s\x1b[0m\n%s\n", quoteArguments(args), runOnTerminal(t, home, args))
	}
	got := drawTerminal(screen.String(), pictureColumns)
	if *update {
		if err := os.WriteFile(picturePath, got, 0o644); err != nil { //nolint:gosec // a page of the documentation
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(picturePath)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s does not show what the program prints; draw it with: go test ./cmd/hob -run TestPicture -update", picturePath)
	}
}

// quoteArguments writes arguments as in a shell.
func quoteArguments(args []string) string {
	out := make([]string, len(args))
	for i, s := range args {
		if out[i] = s; strings.Contains(s, " ") {
			out[i] = `"` + s + `"`
		}
	}
	return strings.Join(out, " ")
}

// randomID matches the ID of a task after the start of its color. IDs differ in each run.
var randomID = regexp.MustCompile(`(\x1b\[2m)t[0-9a-z]{9}\b`)

// runOnTerminal returns what a command prints on a terminal, with a fixed ID.
func runOnTerminal(t *testing.T, home string, args []string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "hob", args...)
	cmd.Env = []string{"HOME=" + filepath.Join(home, "user"), "HOB_HOME=" + filepath.Join(home, "hob"), "PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "TZ=UTC"}
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: pictureColumns})
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(tty)
	if err != nil && !errors.Is(err, syscall.EIO) { // EIO means that the program has ended
		t.Fatal(err)
	}
	if err := errors.Join(cmd.Wait(), tty.Close()); err != nil {
		t.Fatalf("hob %s: %v\n%s", strings.Join(args, " "), err, b)
	}
	return randomID.ReplaceAllString(strings.ReplaceAll(string(b), "\r", ""), "${1}t4kq7zw2mh")
}

// colorSequence matches an SGR sequence (ECMA-48 8.3.117).
var colorSequence = regexp.MustCompile(`\x1b\[([0-9;]*)m`)

// drawTerminal draws the output of a terminal as an SVG picture.
func drawTerminal(output string, columns int) []byte {
	const left, top, lineHeight, charWidth = 20, 46, 21, 8.43
	lines := strings.Split(strings.TrimRight(output, "\n"), "\n")
	width, height := 2*left+int(float64(columns)*charWidth), top+len(lines)*lineHeight+8
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img">
<title>Hob in a terminal</title>
<rect width="100%%" height="100%%" rx="10" fill="#1d2026"/>
<circle cx="22" cy="19" r="5" fill="#ff6159"/><circle cx="40" cy="19" r="5" fill="#ffbd2e"/><circle cx="58" cy="19" r="5" fill="#28c941"/>
<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="14" fill="#d7dae0">
`, width, height, width, height)
	for i, line := range lines {
		if line == "" {
			continue
		}
		fmt.Fprintf(&b, `<text y="%d" xml:space="preserve">`, top+i*lineHeight+8)
		style, column := "", 0
		for line != "" {
			text, rest, next := line, "", style
			if m := colorSequence.FindStringSubmatchIndex(line); m != nil {
				text, rest, next = line[:m[0]], line[m[1]:], svgStyle(line[m[2]:m[3]])
			}
			if text != "" {
				fmt.Fprintf(&b, `<tspan x="%.1f"%s>`, left+float64(column)*charWidth, style)
				_ = xml.EscapeText(&b, []byte(text)) // a buffer accepts every write
				b.WriteString("</tspan>")
				column += utf8.RuneCountInString(text)
			}
			line, style = rest, next
		}
		b.WriteString("</text>\n")
	}
	b.WriteString("</g>\n</svg>\n")
	return b.Bytes()
}

// svgStyle returns the attributes for an SGR parameter.
func svgStyle(sgr string) string {
	switch sgr {
	case bold:
		return ` font-weight="bold" fill="#ffffff"`
	case dim:
		return ` fill="#8b93a1"`
	case red:
		return ` fill="#ff7b72"`
	case green:
		return ` fill="#7ee787"`
	case amber:
		return ` fill="#e3b341"`
	}
	return ""
}
