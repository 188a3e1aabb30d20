package chatui

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"hob/autonomy/api"
	"hob/channels"
	"hob/platform/text/markup"
	"hob/platform/text/visible"
)

// Lines prints a chat as plain lines, without control sequences. It implements Screen.
type Lines struct {
	In  io.Reader
	Out io.Writer
	// Typed reports whether a person types the input on a terminal. Long lines and lines that arrive
	// together then count as pasted.
	Typed bool
	// Reader reports whether a screen reader reads the output. Each entry then begins with its kind,
	// answers are printed in complete paragraphs, and Hob reports that it is still working.
	Reader bool

	mu   sync.Mutex
	open bool // whether the last line of an answer is incomplete
	err  error
}

// Note implements Screen.
func (p *Lines) Note(kind Kind, text string) {
	switch {
	case !p.Reader:
	case kind == Notice:
		text = "Notification: " + text
	case kind == Failure:
		text = "Error: " + strings.TrimPrefix(text, "Error: ")
	}
	p.printLines(text)
}

func (p *Lines) printLines(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endLine()
	fmt.Fprintln(p.Out, visible.Text(text))
}

// endLine completes the last line. The caller holds p.mu.
func (p *Lines) endLine() {
	if p.open {
		fmt.Fprintln(p.Out)
		p.open = false
	}
}

// Ask implements Screen. It prints all three parts of the request, because there is no key to show
// the details.
func (p *Lines) Ask(q api.Approval, how string) {
	p.printLines("Hob asks: " + q.Text() + "\n  " + how)
}

// Decided implements Screen.
func (p *Lines) Decided(_ api.Approval, outcome string, err error) {
	if err != nil {
		outcome = "Your answer was not accepted: " + err.Error()
	}
	p.printLines(outcome)
}

// SetStatus implements Screen. Lines have no status bar.
func (p *Lines) SetStatus(Status) {}

// NewTurn implements Screen.
func (p *Lines) NewTurn(string) Turn {
	t := &linesTurn{p: p, done: make(chan struct{})}
	if p.Reader {
		go t.reportWork()
	}
	return t
}

// linesTurn prints one answer.
type linesTurn struct {
	p    *Lines
	once sync.Once
	done chan struct{}

	mu   sync.Mutex
	text strings.Builder // the paragraph so far, for a screen reader
}

// workReports is the time between two reports to a screen reader that Hob is still working.
const workReports = 10 * time.Second

// reportWork reports every 10 s that the turn is not complete.
func (t *linesTurn) reportWork() {
	tick := time.NewTicker(workReports)
	defer tick.Stop()
	for begun := time.Now(); ; {
		select {
		case <-t.done:
			return
		case now := <-tick.C:
			t.p.printLines("Working for " + formatElapsed(now.Sub(begun)) + ".")
		}
	}
}

func (t *linesTurn) AddText(text string) {
	text = visible.Text(text)
	if t.p.Reader {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.text.WriteString(text)
		return
	}
	if text == "" {
		return
	}
	t.p.mu.Lock()
	defer t.p.mu.Unlock()
	_, _ = io.WriteString(t.p.Out, text) // a closed pipe ends the process with SIGPIPE
	t.p.open = !strings.HasSuffix(text, "\n")
}

func (t *linesTurn) EndText() {
	t.mu.Lock()
	text := strings.TrimSpace(markup.Plain(t.text.String()))
	t.text.Reset()
	t.mu.Unlock()
	if text != "" {
		t.p.printLines("Hob: " + text)
		return
	}
	t.p.mu.Lock()
	defer t.p.mu.Unlock()
	t.p.endLine()
}

func (t *linesTurn) End() {
	t.EndText()
	t.once.Do(func() { close(t.done) })
}

func (t *linesTurn) StartTool(string, string)            {}
func (t *linesTurn) AddArguments(string, string)         {}
func (t *linesTurn) ShowProgress(string, string, string) {}

func (t *linesTurn) EndTool(_, name, failure, _ string) {
	if !t.p.Typed {
		return
	}
	name = strings.ReplaceAll(oneLine(name), "_", " ")
	t.EndText()
	switch {
	case failure != "":
		t.p.printLines("Tool failed: " + name + ": " + oneLine(failure))
	default:
		t.p.printLines("Tool: " + name)
	}
}

// Err implements Screen.
func (p *Lines) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// Inputs implements Screen. The goroutine that reads ends with the input or with the process, because
// reading a terminal cannot be canceled.
func (p *Lines) Inputs(ctx context.Context) <-chan Input {
	lines, out := make(chan string), make(chan Input)
	go func() {
		defer close(lines)
		r := bufio.NewReader(p.In)
		for {
			s, err := r.ReadString('\n')
			if s != "" || err == nil {
				select {
				case lines <- strings.TrimRight(s, "\r\n"):
				case <-ctx.Done():
					return
				}
			}
			if err != nil {
				p.mu.Lock()
				if !errors.Is(err, io.EOF) {
					p.err = fmt.Errorf("read input: %w", err)
				}
				p.mu.Unlock()
				return
			}
		}
	}()
	go func() {
		defer close(out)
		for s := range lines {
			in := Input{Text: s}
			if p.Typed {
				in = p.readTyped(s, lines)
			}
			select {
			case out <- in:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// typedTogether is the time in which the next line must arrive to belong to the same paste. A person
// needs longer for a line.
const typedTogether = 30 * time.Millisecond

// readTyped returns the input that begins with a line. On a plain terminal, pastes are not marked:
// lines that arrive together are one message, and a long message counts as pasted. The user can
// declare it as their own with /mine.
func (p *Lines) readTyped(first string, lines <-chan string) Input {
	text := first
	wait := time.NewTimer(typedTogether)
	defer wait.Stop()
	for more := true; more; {
		select {
		case s, ok := <-lines:
			if more = ok; ok {
				text += "\n" + s
				wait.Reset(typedTogether)
			}
		case <-wait.C:
			more = false
		}
	}
	if IsLeaving(strings.TrimSpace(text)) || utf8.RuneCountInString(text) <= channels.MaxTyped {
		return Input{Text: text}
	}
	command, pasted := "", strings.TrimSpace(text)
	if rest, ok := strings.CutPrefix(pasted, MineCommand+" "); ok {
		command, pasted = MineCommand+" ", rest
	}
	paste := newPaste(1, pasted)
	return Input{Text: command + paste.Mark, Pastes: []Paste{paste}}
}

// MineCommand declares the pastes in a message as the user's own text.
const MineCommand = "/mine"
