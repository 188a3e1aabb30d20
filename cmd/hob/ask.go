package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hob/autonomy/api"
	"hob/channels/web/apiclient"
)

func (a *cli) askCmd() *cobra.Command {
	session, yes, mine := cliSession, false, false
	cmd := a.addJSONFlag(&cobra.Command{
		Use: "ask TEXT...", Short: "Send one message and print the answer",
		RunE: a.runCommand(func(c *cobra.Command, args []string) error {
			in, err := a.readInput(c.Context(), args, mine)
			if err != nil {
				return err
			}
			if yes && in.isUntrusted() {
				return &failure{
					code: exitUsage, cause: "--yes cannot be used with text from standard input, which other people may have written",
					remedy: "remove --yes and answer each request, or add --mine if you wrote the text",
				}
			}
			return a.withClient(c.Context(), func(cl *client) error {
				out, err := a.askQuestion(c.Context(), cl, session, in, yes)
				if err != nil {
					return err
				}
				if a.asJSON {
					return a.printJSON(out)
				}
				a.printWrapped(sanitizePrintable(strings.TrimRight(out.Answer, "\n")))
				return nil
			})
		}),
	})
	cmd.Flags().StringVarP(&session, "session", "s", cliSession, "conversation for the message")
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "approve the requests in this turn, except calls that destroy data or reveal a credential")
	cmd.Flags().BoolVar(&mine, "mine", false, "treat standard input as your own words (default: untrusted text)")
	return cmd
}

// askQuestion sends one message and returns the answer. It also asks the user about the turn's
// approval requests.
func (a *cli) askQuestion(ctx context.Context, c *client, session string, in userInput, yes bool) (apiclient.Reply, error) {
	defer a.watchProgress(ctx, c, session)()
	out, err := c.Send(ctx, session, in.messageBody())
	if err != nil {
		return out, errors.Join(err, a.cancelTurn(ctx, c, session))
	}
	if len(out.Approvals) == 0 {
		return withDefaults(out), nil
	}
	given := noPriorApproval
	if yes {
		given = turnApproval
	}
	st, err := a.resolveApprovals(ctx, c, out.Event, out.Approvals, given)
	if err != nil {
		return out, err
	}
	if st.State == "dead" {
		return out, errors.New(st.Error)
	}
	return withDefaults(apiclient.Reply{Answered: api.Answered{Answer: st.Answer, Session: st.Session, Event: st.ID, Tools: st.Tools, Usage: st.Usage}}), nil
}

// cancelTurn stops the turn of an interrupted command if the engine runs in this process, because
// the next command would otherwise resume the turn. A daemon's turn continues, because another
// client may be waiting for it in the same conversation.
func (a *cli) cancelTurn(ctx context.Context, c *client, session string) error {
	if ctx.Err() == nil {
		return nil
	}
	if c.pid != 0 {
		fmt.Fprintf(a.err, "Hob continues the work; see: hob session show %s\n", session)
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	_, err := c.Stop(ctx, session)
	return err
}

// withDefaults sets the fields that are documented for --json.
func withDefaults(o apiclient.Reply) apiclient.Reply {
	if o.Tools == nil {
		o.Tools = []api.ToolUse{}
	}
	if len(o.Usage) == 0 {
		o.Usage = json.RawMessage("null")
	}
	return o
}
