package main

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
)

func (a *app) channelCmd() *cobra.Command {
	list := a.listing(&cobra.Command{
		Use: "list", Short: "List the channels, and which accounts there are yours", Args: cobra.NoArgs,
		RunE: a.run(func(c *cobra.Command, _ []string) error {
			return a.with(c.Context(), func(cl *client) error {
				var raw json.RawMessage
				if err := cl.get(c.Context(), "/api/v1/channels", nil, &raw); err != nil {
					return err
				}
				if a.asJSON {
					return a.printJSON(raw)
				}
				if err := a.show(raw, "No channels.", col("NAME", "name"), col("STATE", "state"), col("SENT", "sent"), col("TROUBLE", "error")); err != nil {
					return err
				}
				return a.printPairings(raw)
			})
		}),
	})
	pair := a.listing(&cobra.Command{
		Use: "pair CHANNEL", Short: "Prove who you are on a channel", Args: cobra.ExactArgs(1),
		RunE: a.run(func(c *cobra.Command, args []string) error {
			return a.with(c.Context(), func(cl *client) error {
				var out map[string]any
				if err := cl.post(c.Context(), "/api/v1/channels/"+pathPart(args[0])+"/pair", struct{}{}, &out); err != nil {
					return err
				}
				if a.asJSON {
					return a.printJSON(out)
				}
				r := row(out)
				fmt.Fprintf(a.out, "Write this on %s, alone in a message and not in a group, until %s:\n\n    %s\n", args[0], localTime(a.zone(), r.text("expires_at")), r.text("code"))
				return nil
			})
		}),
	})
	unpair := a.listing(&cobra.Command{
		Use: "unpair ID", Short: "Take an account for a stranger again", Args: cobra.ExactArgs(1),
		RunE: a.run(func(c *cobra.Command, args []string) error {
			return a.with(c.Context(), func(cl *client) error {
				var out map[string]any
				if err := cl.post(c.Context(), "/api/v1/pairings/"+pathPart(args[0])+"/remove", struct{}{}, &out); err != nil {
					return err
				}
				if a.asJSON {
					return a.printJSON(out)
				}
				fmt.Fprintf(a.out, "%s on %s is a stranger again.\n", printable(row(out).text("sender")), row(out).text("channel"))
				return nil
			})
		}),
	})
	return a.group(&cobra.Command{Use: "channel", Short: "Where you talk with Hob, and who you are there", SuggestFor: []string{"channels", "pair"}}, list, pair, unpair, a.messagesTestCmd())
}

func (a *app) printPairings(raw json.RawMessage) error {
	var channels []struct {
		Pairings []row `json:"pairings"`
	}
	if err := json.Unmarshal(raw, &channels); err != nil {
		return err
	}
	var all []row
	for _, c := range channels {
		all = append(all, c.Pairings...)
	}
	if len(all) == 0 {
		return nil
	}
	fmt.Fprintln(a.out, "\nYour accounts:")
	a.table(all, []column{col("ID", "id"), col("CHANNEL", "channel"), col("SENDER", "sender"), col("NAME", "name"), at(a.zone(), "SINCE", "created_at")})
	return nil
}
