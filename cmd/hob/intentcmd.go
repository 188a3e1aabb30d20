package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hob/autonomy/api"
	"hob/watchers"
)

// watchersOf lists the standing intents, or all other watchers.
func watchersOf(ctx context.Context, c *client, intents bool) ([]api.Watcher, error) {
	list, err := c.Watchers(ctx, api.Query{})
	return slices.DeleteFunc(list, func(w api.Watcher) bool { return (w.Kind == watchers.KindIntent) != intents }), err
}

func (a *cli) intentCmd() *cobra.Command {
	list := a.addJSONFlag(&cobra.Command{
		Use: "list", Short: "List the standing intents", Args: cobra.NoArgs,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error {
			return printFetched(c.Context(), a, func(cl *client) ([]api.Watcher, error) { return watchersOf(c.Context(), cl, true) },
				`No intents. Add one with: hob intent add --from Ada --tell "the venue changed"`,
				"WAITS FOR|STATE|LAST|ID|FIRED|REPORTS TO", func(w api.Watcher) []any {
					return []any{w.Describe, w.State, w.FiredAt, w.ID, w.Fired, w.Report}
				})
		}),
	})
	add := a.addJSONFlag(&cobra.Command{
		Use: "add", Short: "Wait for a message or an event, then act", Args: cobra.NoArgs,
		Long: `Wait for a message or an event, and then show a text, send a text or carry out a task.

Select what to wait for with --from, --words or --watcher. Without --remind, --tell and --do,
Hob only notifies you. A text for another person needs your approval or a grant.`,
		Example: `  hob intent add --from Ada --tell "the venue changed"
  hob intent add --from me --words Garden --remind "the hose"
  hob intent add --from Ben --words invoice --each-time`,
		RunE: a.runCommand(func(c *cobra.Command, _ []string) error {
			in := changedFlags(c, "from", "channel", "watcher", "remind", "tell", "do")
			if words, _ := c.Flags().GetStringSlice("words"); len(words) > 0 {
				in["words"] = words
			}
			if each, _ := c.Flags().GetBool("each-time"); each {
				in["each_time"] = true
			}
			if len(in) == 0 {
				return usageErrorf("set what to wait for with --from, --words or --watcher")
			}
			return a.runTool(c.Context(), false, "create_intent", in)
		}),
	})
	f := add.Flags()
	f.String("from", "", "person, address, number or account (CHANNEL:ID); me: your own messages")
	f.StringSlice("words", nil, "words, separated by commas; the message must contain one of them")
	f.String("channel", "", "channel of the message (default: any)")
	f.String("watcher", "", "id or words of a watcher or schedule to wait for")
	f.String("remind", "", "text to show you")
	f.String("tell", "", "text to send to the sender of the message")
	f.String("do", "", "task, in everyday words")
	f.Bool("each-time", false, "act each time (default: once)")
	remove := a.onOne("remove INTENT...", "Remove a standing intent", "cancel_intent", "intent")
	return a.commandGroup(&cobra.Command{Use: "intent", Short: "Manage standing intents", SuggestFor: strings.Fields("intents when")}, list, add, remove)
}
