package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hob/cmd/hob/internal/channel"
)

func (a *cli) channelStatusCmd() *cobra.Command {
	return a.addJSONFlag(&cobra.Command{
		Use: "status [CHANNEL]", Short: "Show the status of each channel and how to fix problems", Args: cobra.MaximumNArgs(1), ValidArgsFunction: completeChannels,
		RunE: a.runCommand(func(c *cobra.Command, args []string) error { return a.channelStatus(c.Context(), args) }),
	})
}

func (a *cli) channelStatus(ctx context.Context, args []string) error {
	rows, _, err := a.loadChannels(ctx)
	if err != nil {
		return err
	}
	shown := []row{}
	for _, r := range rows {
		if r["configured"] == true || r["enabled"] == true {
			shown = append(shown, r)
		}
	}
	if len(args) == 1 {
		r, err := namedChannel(rows, args[0])
		if err != nil {
			return err
		}
		shown = []row{r}
	}
	if a.asJSON {
		return a.printJSON(shown)
	}
	zone := a.userZone()
	for _, r := range shown {
		a.oneStatus(r, zone)
	}
	return nil
}

// oneStatus prints the status of one channel in a few lines.
func (a *cli) oneStatus(r row, zone *time.Location) {
	name, state := r.textField("name"), stateOf(r)
	color := map[string]string{"running": green, "waiting": amber, "starting": amber, "stopped": red, "failed": red}[r.textField("state")]
	if color == "" {
		color = dim
	}
	how := r.textField("describe")
	if how == "" {
		how = r.textField("about")
	}
	fmt.Fprintf(a.out, "%-10s %s  %s\n", name, a.colorize(a.out, color, fmt.Sprintf("%-11s", state)), oneLine(how))
	line := func(text string) {
		if text != "" {
			fmt.Fprintln(a.out, strings.Repeat(" ", 11)+oneLine(text))
		}
	}
	line(trafficText(r, zone))
	if s := r.textField("cause"); s != "" {
		line(s)
	} else if s := r.textField("error"); s != "" {
		line(s)
	}
	if s := r.textField("remedy"); s != "" {
		line("fix: " + s)
	}
	mine, _ := r["pairings"].([]any)
	k, _ := channel.Find(name)
	switch {
	case len(mine) > 0:
		var who []string
		for _, p := range mine {
			if m, ok := p.(map[string]any); ok {
				who = append(who, row(m).textField("name", "sender"))
			}
		}
		line("paired: " + strings.Join(who, ", "))
	case r.textField("state") == "running" && r["deaf"] != true && r["pull"] != true && !k.Always:
		line("no account is paired, so Hob ignores your messages there; pair yours: hob channel pair " + name)
	}
}

// trafficText describes the messages received and sent on a channel, if they are known.
func trafficText(r row, zone *time.Location) string {
	n := func(names ...string) int {
		for _, x := range names {
			if v, ok := r[x].(float64); ok && v > 0 {
				return int(v)
			}
		}
		return 0
	}
	var parts []string
	add := func(count int, what string, at ...string) {
		if count == 0 {
			return
		}
		s := fmt.Sprintf("%d %s", count, what)
		if t := localTime(zone, r.textField(at...)); t != "" && len(at) > 0 {
			s += " (last " + t + ")"
		}
		parts = append(parts, s)
	}
	add(n("heard"), "heard", "heard_at", "last_heard")
	add(n("sent"), "sent", "sent_at", "last_sent")
	add(n("queued", "waiting"), "waiting to be sent")
	add(n("refused"), "of unknown senders ignored")
	return strings.Join(parts, ", ")
}
