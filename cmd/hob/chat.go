package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"hob/autonomy/api"
	"hob/autonomy/intake/chattext"
	"hob/channels"
	"hob/channels/terminal/chatui"
	"hob/channels/web"
	"hob/platform/host/system"
)

// chatOptions holds the flags of `hob chat`.
type chatOptions struct {
	session             string
	noStart, mine       bool
	plain, screenReader bool
}

func (a *cli) chatCmd() *cobra.Command {
	var o chatOptions
	cmd := &cobra.Command{
		Use: "chat", Short: "Talk to Hob", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error { return a.runChat(c.Context(), o) }),
	}
	cmd.Flags().StringVarP(&o.session, "session", "s", cliSession, "name of the conversation")
	cmd.Flags().BoolVar(&o.noStart, "no-start", false, "do not start Hob in the background")
	cmd.Flags().BoolVar(&o.mine, "mine", false, "treat standard input as your own words if it is not a terminal (default: untrusted text)")
	cmd.Flags().BoolVar(&o.plain, "plain", false, "plain lines without colors and cursor movement")
	cmd.Flags().BoolVar(&o.screenReader, "screen-reader", false, "plain lines with labels, in complete paragraphs")
	return cmd
}

// chat is one conversation in a terminal or over pipes.
type chat struct {
	app      *cli
	paths    system.Paths
	noStart  bool // do not start the daemon
	session  string
	screen   chatui.Screen
	keys     bool // whether the screen shows approval requests with keys
	attended bool // whether a person reads the screen and can type while Hob answers
	piped    bool // whether standard input is not the user's own text
	warned   bool // whether the warning about pastes was shown; only runLoop uses it
	// received is closed when the previous message was received; only runLoop uses it.
	received chan struct{}
	signals  chan os.Signal // Ctrl-C on a terminal that shows plain lines
	refresh  chan struct{}  // requests a new status

	connecting sync.Mutex // held while a new client is opened

	turns  sync.WaitGroup
	mu     sync.Mutex
	client *client         // client of the running daemon; see daemonClient
	mine   map[string]bool // the events that this chat created; their answers are streamed here
	told   map[string]bool // deliveries that were shown
	busy   int             // number of running turns
	status chatui.Status
}

func (a *cli) runChat(ctx context.Context, o chatOptions) error {
	p, err := system.DefaultPaths()
	if err != nil {
		return err
	}
	if !o.noStart {
		if _, err := a.startInBackground(ctx); err != nil {
			return err
		}
	}
	c, err := a.connectAPI(ctx)
	if err != nil {
		return err
	}
	_, typed := terminalFD(a.in)
	_, shown := terminalFD(a.out)
	ch := &chat{
		app: a, client: c, paths: p, noStart: o.noStart, session: o.session, mine: map[string]bool{}, told: map[string]bool{},
		piped: !typed && !o.mine, attended: typed && shown, refresh: make(chan struct{}, 1),
	}
	if ch.attended && !o.plain && !o.screenReader && canDrawChat(os.Getenv) {
		err = ch.runScreen(ctx)
	} else {
		err = ch.runLines(ctx, typed, o.screenReader || os.Getenv("ACCESSIBLE") != "")
	}
	return errors.Join(err, ch.daemonClient().closeEngine())
}

// canDrawChat reports whether the terminal can show the full-screen chat and no variable disables it.
func canDrawChat(getenv func(string) string) bool {
	t := getenv("TERM")
	return getenv("ACCESSIBLE") == "" && getenv("NO_COLOR") == "" && t != "dumb" && (t != "" || runtime.GOOS == "windows")
}

// runScreen runs the chat as a full-screen program.
func (ch *chat) runScreen(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out := rawWriter(ch.app.out)
	home, _ := os.UserHomeDir() // without it, paths that begin with ~ are not completed
	folder, _ := os.Getwd()     // without it, relative paths are not completed
	o := chatui.Options{
		In: ch.app.in, Out: out, Environ: os.Environ(), Home: home, Folder: folder, Commands: chatCommands(),
		History: func() []string { return ch.loadHistory(ctx) },
	}
	if ch.session != cliSession {
		o.Session = ch.session
	}
	ui := chatui.New(ctx, o)
	ch.screen, ch.keys = ui, true
	ended := make(chan error, 1)
	go func() { ended <- ch.runLoop(ctx) }()
	err := ui.Run(ctx)
	cancel()
	if loop := <-ended; err == nil && !errors.Is(loop, context.Canceled) {
		err = loop
	}
	fmt.Fprint(out, ui.Tail(chatTail))
	return err
}

// chatTail is the number of lines of the conversation that stay in the terminal after the chat.
const chatTail = 20

// runLines runs the chat in plain lines. On a terminal, the first Ctrl-C stops the running answer
// instead of the program.
func (ch *chat) runLines(ctx context.Context, typed, reader bool) error {
	ch.screen = &chatui.Lines{In: ch.app.in, Out: ch.app.out, Typed: typed, Reader: reader}
	if typed {
		ch.signals = make(chan os.Signal, 1)
		signal.Notify(ch.signals, os.Interrupt)
		defer signal.Stop(ch.signals)
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(context.WithoutCancel(ctx), syscall.SIGTERM)
		defer stop()
	}
	return ch.runLoop(ctx)
}

// chatCommands returns the chat commands for the completion.
func chatCommands() (out []chatui.Command) {
	for _, c := range chattext.Commands() {
		if c.About != "" {
			out = append(out, chatui.Command{Name: c.Names[0], Args: c.Args, About: c.About})
		}
	}
	return append(out, chatui.Command{Name: strings.TrimPrefix(chatui.MineCommand, "/"), Args: "TEXT", About: "declare the pastes in a message as your own words"},
		chatui.Command{Name: "exit", About: "leave the chat"})
}

// runLoop handles the user's input until they leave, and shows messages that Hob sends unprompted.
func (ch *chat) runLoop(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer ch.turns.Wait()
	defer cancel()
	inputs := ch.screen.Inputs(ctx)
	connected := make(chan struct{})
	ch.turns.Go(func() { ch.followFeed(ctx, sync.OnceFunc(func() { close(connected) })) })
	select { // show events from now on
	case <-connected:
	case <-ctx.Done():
		return ctx.Err()
	}
	ch.catchUp(ctx)
	switch {
	case ch.keys:
		ch.turns.Go(func() { ch.followStatus(ctx) })
		ch.askPending(ctx, api.Query{State: "pending", Of: ch.session}, "") // from an earlier chat
		ch.screen.Note(chatui.Hint, "This is Hob. Say what you need, or /help. Ctrl-C stops an answer, Ctrl-D leaves, PgUp scrolls.")
	case ch.attended:
		ch.screen.Note(chatui.Hint, "This is Hob. Say what you need, or /help. Ctrl-C stops an answer, Ctrl-D leaves.")
	}
	ch.received = make(chan struct{})
	close(ch.received)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ch.signals:
			if !ch.interruptTurn(ctx) {
				return nil
			}
		case in, ok := <-inputs:
			if !ok {
				return ch.screen.Err()
			}
			if ch.handleInput(ctx, in) {
				return nil
			}
		}
	}
}

// handleInput handles one input and reports whether the user leaves.
func (ch *chat) handleInput(ctx context.Context, in chatui.Input) (leave bool) {
	text := strings.TrimSpace(in.Text)
	switch {
	case in.Decision != nil:
		ch.turns.Go(func() { ch.decideRequest(ctx, *in.Decision) })
	case in.Interrupt:
		ch.interruptTurn(ctx)
	case !ch.piped && chatui.IsLeaving(text):
		return true
	case !utf8.ValidString(text):
		ch.screen.Note(chatui.Failure, "That line is not valid UTF-8 and was not sent. Send text as UTF-8.")
	case text != "":
		ch.handleMessage(ctx, in)
	}
	return false
}

// handleMessage sends one message. In a terminal, the user can type the next one in the meantime;
// with a pipe, handleMessage waits for the answer or an approval request.
func (ch *chat) handleMessage(ctx context.Context, in chatui.Input) {
	body, err := chatBody(in, ch.piped)
	if err != nil {
		ch.screen.Note(chatui.Failure, "Not sent: "+err.Error())
		return
	}
	if body.Parts != nil && !ch.piped && !ch.warned {
		ch.warned = true
		ch.screen.Note(chatui.Hint, "A long paste counts as untrusted text: Hob asks before acting on it. If you wrote it, send it with "+chatui.MineCommand+" before your message.")
	}
	settled, before, received := make(chan struct{}), ch.received, make(chan struct{})
	ch.received = received
	t := &turn{chat: ch, view: ch.screen.NewTurn(sanitizePrintable(in.Text))}
	t.received, t.settled = sync.OnceFunc(func() { close(received) }), sync.OnceFunc(func() { close(settled) })
	ch.addRunning(1)
	ch.turns.Go(func() {
		defer ch.addRunning(-1)
		defer t.received()
		defer t.settled()
		defer t.view.End()
		select { // messages arrive in the order in which they were typed, even after a crash
		case <-before:
		case <-ctx.Done():
			return
		}
		t.sendMessage(ctx, body)
	})
	if ch.attended {
		return
	}
	select {
	case <-settled:
	case <-ctx.Done():
	}
}

// errNothingToVouch means that /mine was used without text.
var errNothingToVouch = errors.New("write your message after " + chatui.MineCommand + ": pasted text in it then counts as your own words")

// chatBody returns the message for an input. It marks as untrusted the pastes that the user did not
// declare as their own, and all text from a pipe.
func chatBody(in chatui.Input, piped bool) (web.Message, error) {
	text := strings.TrimSpace(in.Text)
	if piped {
		return userInput{piped: text}.messageBody(), nil
	}
	rest, vouched := strings.CutPrefix(text, chatui.MineCommand)
	if vouched = vouched && (rest == "" || rest[0] == ' ' || rest[0] == '\n'); vouched {
		text = strings.TrimSpace(rest)
		for _, p := range in.Pastes {
			text = strings.ReplaceAll(text, p.Mark, p.Text)
		}
		if text == "" {
			return web.Message{}, errNothingToVouch
		}
	}
	if vouched || len(in.Pastes) == 0 {
		return userInput{typed: text}.messageBody(), nil
	}
	var parts []channels.TextPart
	typed := text
	for _, p := range in.Pastes {
		typed = strings.ReplaceAll(typed, p.Mark, "")
	}
	if strings.TrimSpace(typed) != "" { // the placeholders mark the positions of the pastes
		parts = append(parts, channels.TextPart{Text: text, Origin: channels.Typed})
	}
	for _, p := range in.Pastes {
		parts = append(parts, channels.TextPart{Text: p.Text, Origin: channels.Pasted, Name: p.Name})
	}
	return web.Message{Parts: parts}, nil
}

// interruptTurn stops the running answer. It reports whether one was running.
func (ch *chat) interruptTurn(ctx context.Context) bool {
	ch.mu.Lock()
	busy := ch.busy > 0
	ch.mu.Unlock()
	if !busy {
		return false
	}
	ch.turns.Go(func() {
		_, err := ch.daemonClient().Stop(ctx, ch.session)
		if err != nil && ctx.Err() == nil {
			ch.screen.Note(chatui.Failure, "Cannot stop the answer: "+err.Error())
		}
	})
	return true
}

// decideRequest answers an approval request with a key. It uses the same route as `hob approve` and
// `hob deny`, which checks the program that answers.
func (ch *chat) decideRequest(ctx context.Context, d chatui.Decision) {
	ctx, cancel := context.WithTimeout(ctx, decisionTimeout)
	defer cancel()
	outcome := "Denied: "
	if d.Approved {
		outcome = "Approved: "
	}
	_, err := ch.daemonClient().Answer(ctx, d.Request.ID, api.Answer{Approved: d.Approved})
	if errors.Is(err, api.ErrConflict) || errors.Is(err, api.ErrNotFound) {
		outcome, err = "Answered elsewhere or expired: ", nil
	}
	ch.screen.Decided(d.Request, outcome+cmp.Or(d.Request.Summary, d.Request.Tool), err)
	ch.requestStatus()
}
