package chatui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	tea "charm.land/bubbletea/v2"

	"hob/autonomy/api"
	"hob/platform/text/visible"
)

// Options holds the parameters of New. Only In and Out are required.
type Options struct {
	In       io.Reader // the terminal
	Out      io.Writer // the terminal; text that is written to it is already visible text
	Environ  []string
	Session  string // name of the conversation, or "" for the default one
	Home     string // the user's home folder, for paths that begin with ~
	Folder   string // the folder for relative paths
	Commands []Command
	// History returns earlier messages, oldest first. It is called once, in a goroutine.
	History func() []string
}

// UI is the full-screen chat. Run must be running for the other methods to have an effect.
type UI struct {
	o       Options
	program *tea.Program
	inputs  chan Input
	turns   atomic.Int64 // number of turns so far
	model   *model
}

// New returns the full-screen chat.
func New(ctx context.Context, o Options) *UI {
	u := &UI{o: o, inputs: make(chan Input, maxWaiting)}
	u.model = newModel(u)
	u.program = tea.NewProgram(u.model, tea.WithContext(ctx), tea.WithInput(&pasteGuard{terminal: terminalOf(o.In)}), tea.WithOutput(o.Out),
		tea.WithEnvironment(o.Environ), tea.WithoutSignalHandler())
	return u
}

// maxWaiting is the number of inputs that wait for the caller.
const maxWaiting = 256

// Run shows the chat until the user leaves or the context ends. It closes the channel of Inputs.
func (u *UI) Run(ctx context.Context) error {
	defer close(u.inputs)
	if u.o.History != nil {
		go func() { u.program.Send(historyMsg(u.o.History())) }()
	}
	_, err := u.program.Run()
	if err != nil && (ctx.Err() != nil || errors.Is(err, tea.ErrProgramKilled)) {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("show the chat: %w; use line mode: hob chat --plain", err)
	}
	return nil
}

// Tail returns the end of the conversation as at most n lines, for the terminal's own history after
// the chat has ended.
func (u *UI) Tail(n int) string {
	lines := u.model.visibleLines(n)
	for len(lines) > 0 && strings.TrimSpace(lines[0]) == "" {
		lines = lines[1:]
	}
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

// Inputs implements Screen.
func (u *UI) Inputs(context.Context) <-chan Input { return u.inputs }

// Err implements Screen. Run reports failures.
func (u *UI) Err() error { return nil }

// Note implements Screen.
func (u *UI) Note(kind Kind, text string) { u.program.Send(noteMsg{kind, visible.Text(text)}) }

// Ask implements Screen.
func (u *UI) Ask(q api.Approval, _ string) {
	u.program.Send(askMsg{newCard(q)})
}

// Decided implements Screen.
func (u *UI) Decided(q api.Approval, outcome string, err error) {
	u.program.Send(decidedMsg{q.ID, visible.Text(outcome), err})
}

// SetStatus implements Screen.
func (u *UI) SetStatus(s Status) { u.program.Send(s) }

// NewTurn implements Screen.
func (u *UI) NewTurn(message string) Turn {
	n := int(u.turns.Add(1))
	u.program.Send(turnMsg{turn: n, what: turnBegins, text: message})
	return &turnOf{u: u, n: n}
}

// turnOf sends the events of one turn to the program.
type turnOf struct {
	u *UI
	n int
}

func (t *turnOf) sendEvent(m turnMsg) {
	m.turn = t.n
	t.u.program.Send(m)
}

func (t *turnOf) AddText(text string) { t.sendEvent(turnMsg{what: turnText, text: text}) }
func (t *turnOf) EndText()            { t.sendEvent(turnMsg{what: turnEndsText}) }
func (t *turnOf) End()                { t.sendEvent(turnMsg{what: turnEnds}) }
func (t *turnOf) StartTool(id, name string) {
	t.sendEvent(turnMsg{what: toolBegins, id: id, name: name})
}

func (t *turnOf) AddArguments(id, text string) {
	t.sendEvent(turnMsg{what: toolArguments, id: id, text: text})
}

func (t *turnOf) ShowProgress(id, name, text string) {
	t.sendEvent(turnMsg{what: toolProgress, id: id, name: name, text: text})
}

func (t *turnOf) EndTool(id, name, failure, result string) {
	t.sendEvent(turnMsg{what: toolEnds, id: id, name: name, failure: failure, text: result})
}

// The messages to the program.
type (
	noteMsg struct {
		kind Kind
		text string
	}
	askMsg     struct{ card *card }
	decidedMsg struct {
		id, outcome string
		err         error
	}
	turnMsg struct {
		turn                    int
		what                    turnChange
		id, name, text, failure string
	}
	historyMsg []string
	tickMsg    time.Time
	// pendingMsg ends the delay of a decision; see model.pressDecision.
	pendingMsg int
)

type turnChange int

const (
	turnBegins turnChange = iota
	turnText
	turnEndsText
	toolBegins
	toolArguments
	toolProgress
	toolEnds
	turnEnds
)
