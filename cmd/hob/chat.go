package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"hob/platform/host/system"
)

func (a *cli) chatCmd() *cobra.Command {
	session, noStart, mine := cliSession, false, false
	cmd := &cobra.Command{
		Use: "chat", Short: "Talk to Hob", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error { return a.runChat(c.Context(), session, noStart, mine) }),
	}
	cmd.Flags().StringVarP(&session, "session", "s", cliSession, "name of the conversation")
	cmd.Flags().BoolVar(&noStart, "no-start", false, "do not start Hob in the background")
	cmd.Flags().BoolVar(&mine, "mine", false, "treat standard input as your own words if it is not a terminal (default: untrusted text)")
	return cmd
}

// chat is one conversation in a terminal or over pipes.
type chat struct {
	app     *cli
	paths   system.Paths
	noStart bool // do not start the daemon
	session string
	screen  screen
	tty     bool
	piped   bool // whether standard input is not the user's own text
	warned  bool // whether the warning about pastes was shown; only run uses it
	// received is closed when the previous message was received; only run uses it.
	received chan struct{}

	connecting sync.Mutex // held while a new client is opened

	turns  sync.WaitGroup
	mu     sync.Mutex
	client *client         // client of the running daemon; see daemonClient
	mine   map[string]bool // the events that this chat created; their answers are streamed here
	told   map[string]bool // deliveries that were shown
	busy   int             // number of running turns
}

func (a *cli) runChat(ctx context.Context, session string, noStart, mine bool) error {
	p, err := system.DefaultPaths()
	if err != nil {
		return err
	}
	if !noStart {
		if _, err := a.startInBackground(ctx); err != nil {
			return err
		}
	}
	c, err := a.connectAPI(ctx)
	if err != nil {
		return err
	}
	ch := &chat{app: a, client: c, paths: p, noStart: noStart, session: session, mine: map[string]bool{}, told: map[string]bool{}}
	_, typed := terminalFD(a.in)
	ch.piped = !typed && !mine
	var restore func() error
	if ch.screen, restore, ch.tty, err = a.newScreen(session); err != nil {
		return errors.Join(err, c.closeEngine())
	}
	err = ch.runLoop(ctx)
	return errors.Join(err, restore(), ch.daemonClient().closeEngine())
}

// runLoop reads lines until the end of input, and shows messages that Hob sends unprompted.
func (ch *chat) runLoop(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer ch.turns.Wait()
	defer cancel()
	connected := make(chan struct{})
	ch.turns.Go(func() { ch.followFeed(ctx, sync.OnceFunc(func() { close(connected) })) })
	select { // show events from now on
	case <-connected:
	case <-ctx.Done():
		return ctx.Err()
	}
	ch.catchUp(ctx)
	if ch.tty {
		ch.screen.printNote(dim, "This is Hob. Say what you need, or /help. Ctrl-C stops an answer, Ctrl-D leaves.")
	}
	lines := ch.screen.readInput(ctx)
	ch.received = make(chan struct{})
	close(ch.received)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ch.screen.interruptSignals():
			ch.interruptTurn(ctx)
		case l := <-lines:
			switch {
			case errors.Is(l.err, io.EOF):
				return nil
			case l.err != nil:
				return fmt.Errorf("read input: %w", l.err)
			}
			text := strings.TrimSpace(l.text)
			if !ch.piped && (text == "/quit" || text == "/exit") {
				return nil
			}
			switch {
			case !utf8.ValidString(text):
				ch.screen.printNote(red, "That line is not valid UTF-8 and was not sent. Send text as UTF-8.")
			case text != "":
				ch.handleLine(ctx, l)
			}
		}
	}
}

// handleLine sends one line. On a terminal, the user can type the next line in the meantime; with a
// pipe, handleLine waits for the answer or an approval request.
func (ch *chat) handleLine(ctx context.Context, l line) {
	body, err := l.messageBody(ch.piped)
	if err != nil {
		ch.screen.printNote(red, "Not sent: "+err.Error())
		return
	}
	if body.Parts != nil && !ch.piped && !ch.warned {
		ch.warned = true
		ch.screen.printNote(dim, "A long paste counts as untrusted text: Hob asks before acting on it. If you wrote it, send it with "+mineCommand+" before your message.")
	}
	settled, before, received := make(chan struct{}), ch.received, make(chan struct{})
	ch.received = received
	ch.turns.Go(func() {
		receive := sync.OnceFunc(func() { close(received) })
		defer receive()
		select { // messages arrive in the order in which they were typed, even after a crash
		case <-before:
		case <-ctx.Done():
			return
		}
		ch.sendMessage(ctx, body, receive, sync.OnceFunc(func() { close(settled) }))
	})
	if ch.tty {
		return
	}
	select {
	case <-settled:
	case <-ctx.Done():
	}
}

// interruptTurn stops the running answer.
func (ch *chat) interruptTurn(ctx context.Context) {
	ch.mu.Lock()
	busy := ch.busy > 0
	ch.mu.Unlock()
	if !busy {
		ch.screen.printNote(dim, "Nothing is running. Ctrl-D leaves.")
		return
	}
	ch.turns.Go(func() {
		_, err := ch.daemonClient().Stop(ctx, ch.session)
		if err != nil && ctx.Err() == nil {
			ch.screen.printNote(red, "Cannot stop the answer: "+err.Error())
		}
	})
}
