package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hob/autonomy/api"
	"hob/cmd/hob/internal/channel"
)

func (a *cli) channelStatusCmd() *cobra.Command {
	return a.addJSONFlag(&cobra.Command{
		Use: "status [CHANNEL]", Short: "Show the status of each channel and how to fix problems", Args: cobra.MaximumNArgs(1), ValidArgsFunction: completeChannels,
		RunE: a.runCommand(func(c *cobra.Command, args []string) error { return a.channelStatus(c.Context(), args) }),
	})
}

func (a *cli) channelStatus(ctx context.Context, args []string) error {
	list, err := a.loadChannels(ctx)
	if err != nil {
		return err
	}
	shown := slices.DeleteFunc(slices.Clone(list), func(c api.Channel) bool { return !c.Configured && !c.Enabled })
	if len(args) == 1 {
		i := slices.IndexFunc(list, func(c api.Channel) bool { return c.Name == args[0] })
		if i < 0 {
			return unknownChannel(args[0])
		}
		shown = list[i : i+1]
	}
	if a.asJSON {
		return a.printJSON(shown)
	}
	zone := a.userZone()
	for _, c := range shown {
		a.oneStatus(c, zone)
	}
	return nil
}

// oneStatus prints the status of one channel in a few lines.
func (a *cli) oneStatus(c api.Channel, zone *time.Location) {
	color := cmp.Or(map[string]string{"running": green, "waiting": amber, "starting": amber, "stopped": red, "failed": red}[c.State], dim)
	about := oneLine(cmp.Or(c.Describe, c.About))
	fmt.Fprintln(a.out, a.wrapAfter(fmt.Sprintf("%-10s %s  ", c.Name, a.colorize(a.out, color, fmt.Sprintf("%-11s", stateOf(c)))), 24, about))
	line := func(text string) {
		if text != "" {
			fmt.Fprintln(a.out, a.wrapToWindow(oneLine(text), strings.Repeat(" ", 11)))
		}
	}
	line(trafficText(c, zone))
	line(cmp.Or(c.Cause, c.Error))
	if c.Remedy != "" {
		line("fix: " + c.Remedy)
	}
	k, _ := channel.Find(c.Name)
	switch {
	case len(c.Pairings) > 0:
		var who []string
		for _, p := range c.Pairings {
			who = append(who, cmp.Or(p.Name, p.Sender))
		}
		line("paired: " + strings.Join(who, ", "))
	case c.State == "running" && !c.Deaf && !c.Pull && !k.Always:
		line("no account is paired, so Hob ignores your messages there; pair yours: hob channel pair " + c.Name)
	}
}

// trafficText describes the messages received and sent on a channel, if they are known.
func trafficText(c api.Channel, zone *time.Location) string {
	var parts []string
	add := func(count int, what string, last time.Time) {
		if count <= 0 {
			return
		}
		s := fmt.Sprintf("%d %s", count, what)
		if t := formatTime(zone, last); t != "" {
			s += " (last " + t + ")"
		}
		parts = append(parts, s)
	}
	add(c.Heard, "received", c.HeardAt)
	add(c.Sent, "sent", c.SentAt)
	add(c.Queued, "waiting to be sent", time.Time{})
	add(c.Refused, "ignored from unknown senders", time.Time{})
	return strings.Join(parts, ", ")
}
