package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// asked is the answer to one message; see channels/web.
type asked struct {
	Answer    string          `json:"answer"`
	Session   string          `json:"session"`
	Event     string          `json:"event"`
	Tools     []toolUse       `json:"tools"`
	Usage     json.RawMessage `json:"usage"`
	Approvals []approval      `json:"approvals,omitempty"`
}

func (a *app) askCmd() *cobra.Command {
	session, yes := cliSession, false
	cmd := a.listing(&cobra.Command{
		Use: "ask TEXT...", Short: "Ask or tell Hob one thing",
		RunE: a.run(func(c *cobra.Command, args []string) error {
			text := words(args)
			if text == "" || text == "-" {
				var err error
				if text, err = a.piped(); err != nil {
					return err
				}
			}
			return a.with(c.Context(), func(cl *client) error {
				out, err := a.ask(c.Context(), cl, session, text, yes)
				if err != nil {
					return err
				}
				if a.asJSON {
					return a.printJSON(out)
				}
				fmt.Fprintln(a.out, printable(strings.TrimRight(out.Answer, "\n")))
				return nil
			})
		}),
	})
	cmd.Flags().StringVarP(&session, "session", "s", cliSession, "the conversation it belongs to")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "say yes to what it asks")
	return cmd
}

// piped reads the text from standard input when that is not a terminal.
func (a *app) piped() (string, error) {
	if _, tty := terminal(a.in); tty {
		return "", usage(`say something: hob ask "what is on today?"`)
	}
	b, err := io.ReadAll(a.in)
	if err != nil {
		return "", fmt.Errorf("read standard input: %w", err)
	}
	if !utf8.Valid(b) {
		return "", &failure{code: exitUsage, cause: "what came on standard input is not valid UTF-8", remedy: "send text, and as UTF-8"}
	}
	if text := strings.TrimSpace(string(b)); text != "" {
		return text, nil
	}
	return "", usage(`say something: hob ask "what is on today?"`)
}

// ask says one thing and returns the answer, after the owner's answers to what
// it may ask on the way.
func (a *app) ask(ctx context.Context, c *client, session, text string, yes bool) (asked, error) {
	var out asked
	defer a.watch(ctx, c, session)()
	if err := c.post(ctx, "/api/v1/sessions/"+pathPart(session)+"/messages", map[string]any{"text": text}, &out); err != nil {
		return out, errors.Join(err, a.abandon(ctx, c, session))
	}
	if len(out.Approvals) == 0 {
		return out.filled(), nil
	}
	st, err := a.settle(ctx, c, out.Approvals, yes)
	if err != nil {
		return out, err
	}
	if st.State == "dead" {
		return out, errors.New(st.Error)
	}
	return asked{Answer: st.Answer, Session: st.Session, Event: st.ID, Tools: st.Tools, Usage: st.Usage}.filled(), nil
}

// abandon stops a turn which its owner has broken off. Where the engine runs in
// this process it would otherwise be taken up again by the next command; a
// daemon goes on, as it may be at work for somebody else in this conversation.
func (a *app) abandon(ctx context.Context, c *client, session string) error {
	if ctx.Err() == nil {
		return nil
	}
	if c.pid != 0 {
		fmt.Fprintf(a.err, "Hob goes on with it; see: hob session show %s\n", session)
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	return c.post(ctx, "/api/v1/manage/stop", map[string]string{"session": session}, nil)
}

// filled makes what --json promises be there.
func (o asked) filled() asked {
	if o.Tools == nil {
		o.Tools = []toolUse{}
	}
	if len(o.Usage) == 0 {
		o.Usage = json.RawMessage("null")
	}
	return o
}
