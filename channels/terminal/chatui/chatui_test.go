package chatui

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/vt"

	"hob/autonomy/api"
)

var update = flag.Bool("update", false, "write the golden screens")

// bench runs a chat on a terminal emulator, with virtual time.
type bench struct {
	t      *testing.T
	ui     *UI
	keys   *io.PipeWriter
	screen *screenEmulator
	ended  chan error
}

// screenEmulator is a terminal emulator for concurrent use.
type screenEmulator struct {
	mu sync.Mutex
	em *vt.Emulator
}

func (s *screenEmulator) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err := s.em.Write(bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n"))) // as a terminal driver does
	return len(b), err
}

// onScreen runs a test with a chat of the given size.
func onScreen(t *testing.T, columns, rows int, test func(b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		keys, typed := io.Pipe()
		b := &bench{t: t, keys: typed, screen: &screenEmulator{em: vt.NewEmulator(columns, rows)}, ended: make(chan error, 1)}
		go func() { _, _ = io.Copy(io.Discard, b.screen.em) }() // the emulator's responses to queries of the program
		ctx, cancel := context.WithCancel(t.Context())
		b.ui = New(ctx, Options{
			In: keys, Out: b.screen, Environ: []string{"TERM=xterm-256color", "COLORTERM=truecolor"}, Home: "/home/ada", Folder: t.TempDir(),
			Commands: []Command{{"stop", "", "stop the work in this conversation"}, {"status", "", "show what I am doing"}, {"snooze", "[ID] 1h", "repeat my last notification"}},
			History:  func() []string { return []string{"list my tasks", "weather in Vilnius", "add milk"} },
		})
		go func() { b.ended <- b.ui.Run(ctx) }()
		b.settleScreen(100 * time.Millisecond)
		b.ui.program.Send(tea.WindowSizeMsg{Width: columns, Height: rows})
		b.ui.SetStatus(Status{Model: "local/llama", Budget: "$0.12 of $5.00", Queue: 2, Quiet: "until 07:00"})
		b.settleScreen(100 * time.Millisecond)
		test(b)
		cancel()
		<-b.ended
		_ = b.screen.em.Close()
		_ = typed.Close()
		_ = keys.Close()
		time.Sleep(time.Minute) // so that the program's timers end
	})
}

// settleScreen advances the time and waits until all goroutines are blocked.
func (b *bench) settleScreen(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// pressKeys types keys and waits for the screen after each of them.
func (b *bench) pressKeys(keys ...string) {
	for _, k := range keys {
		if _, err := io.WriteString(b.keys, k); err != nil {
			b.t.Fatal(err)
		}
		b.settleScreen(120 * time.Millisecond)
	}
}

// screenText returns what the screen shows.
func (b *bench) screenText() string {
	b.screen.mu.Lock()
	defer b.screen.mu.Unlock()
	lines := strings.Split(strings.ReplaceAll(b.screen.em.String(), "\r", ""), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n")
}

func (b *bench) checkShown(want ...string) {
	b.t.Helper()
	for _, w := range want {
		if !strings.Contains(b.screenText(), w) {
			b.t.Errorf("the screen does not show %q:\n%s", w, b.screenText())
		}
	}
}

func (b *bench) checkHidden(unwanted ...string) {
	b.t.Helper()
	for _, w := range unwanted {
		if strings.Contains(b.screenText(), w) {
			b.t.Errorf("the screen shows %q:\n%s", w, b.screenText())
		}
	}
}

// nextInput returns the next input, or fails.
func (b *bench) nextInput() Input {
	b.t.Helper()
	synctest.Wait()
	select {
	case in := <-b.ui.inputs:
		return in
	default:
		b.t.Fatalf("the program did not ask for input; screen:\n%s", b.screenText())
	}
	return Input{}
}

func (b *bench) noInput() {
	b.t.Helper()
	synctest.Wait()
	select {
	case in := <-b.ui.inputs:
		b.t.Fatalf("input %+v; the screen:\n%s", in, b.screenText())
	default:
	}
}

const markdown = "Here is **bold text** and `code` for *you*, with a [link](https://example.org/page).\n\n```python\nprint(\"fenced-line\")\n```\n\n" +
	"1. first point\n2. second point that is long enough to continue on another line of the terminal\n   - nested\n\n> a quote\n\n" +
	"| City | Degrees |\n|---|---:|\n| Vilnius | 21 |\n| Kaunas | 9 |\n"

func approvalRequest(id string) api.Approval {
	return api.Approval{
		ID: id, Tool: "run_command", Arguments: json.RawMessage(`{"command":"touch x.txt","cwd":"/home/ada/Documents"}`), Effects: "exec",
		Summary: "Run in /home/ada/Documents: /usr/bin/touch x.txt", Reason: "it runs a program", Why: "touch is not one of the read-only programs",
	}
}

func TestUI_GoldenScreens(t *testing.T) {
	for columns, rows := range map[int]int{60: 30, 80: 30, 120: 30, 40: 10} {
		for name, play := range map[string]func(b *bench){
			"answer": func(b *bench) {
				turn := b.ui.NewTurn("what is new?")
				turn.StartTool("1", "read_page")
				turn.EndTool("1", "read_page", "", "the page")
				turn.StartTool("2", "read_file")
				turn.EndTool("2", "read_file", "file not found", "")
				turn.AddText(markdown)
				turn.End()
				b.ui.Note(Notice, "Reminder: **call Ana** at 15:00")
				b.ui.Note(Warning, "Hob has stopped unexpectedly. Starting it again.")
				b.pressKeys("a draft")
			},
			"card": func(b *bench) {
				b.ui.NewTurn("please").StartTool("1", "run_command")
				b.ui.Ask(approvalRequest("a1"), "")
				b.ui.Ask(approvalRequest("a2"), "")
			},
			"details": func(b *bench) {
				b.ui.Ask(approvalRequest("a1"), "")
				b.pressKeys("d")
			},
			"commands": func(b *bench) { b.pressKeys("/s", "\x1b[B") },
			"search":   func(b *bench) { b.pressKeys("\x12", "w") },
			"unfolded": func(b *bench) {
				turn := b.ui.NewTurn("read it")
				turn.StartTool("1", "use_tool")
				turn.AddArguments("1", `{"name": "read_page", "arguments": {"url": "https://example.org"}}`)
				turn.EndTool("1", "read_page", "", "line one\nline two")
				turn.AddText("Done.")
				turn.End()
				b.pressKeys("\x0f")
			},
			"lines": func(b *bench) {
				b.pressKeys("first line", "\x1b\r", "second line", "\\", "\r", "third line", "\x1b[13;2u", strings.Repeat("word ", 30))
			},
		} {
			t.Run(fmt.Sprintf("%s at %d columns", name, columns), func(t *testing.T) {
				onScreen(t, columns, rows, func(b *bench) {
					play(b)
					b.settleScreen(200 * time.Millisecond)
					compareGolden(t, fmt.Sprintf("%s-%d.golden", name, columns), b.screenText()+"\n")
				})
			})
		}
	}
}

func compareGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || string(want) != got {
		t.Errorf("%s differs (%v):\n%s", name, err, got)
	}
}
