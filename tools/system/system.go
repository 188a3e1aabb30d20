// Package system provides the tools that report on and control Hob: status, undo, explain and
// get_usage_stats. They use the engine only through the small interface in this package.
package system

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"hob/autonomy/api"
	"hob/platform/provenance"
	"hob/platform/text/dateparse"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// Engine contains the methods of Hob's engine that the tools need.
type Engine interface {
	Status(ctx context.Context) (api.Status, error)
	// Undo reverts the requested actions. The result and the error state whether they quote
	// untrusted text.
	Undo(ctx context.Context, r tools.UndoRequest) (tools.Result, error)
	// Undoable describes the actions that a request would revert, and when the first of them, which
	// is the newest, happened. It returns none, or an error, if the request would revert nothing. If
	// the request has no Session, the session of the event By is used.
	Undoable(ctx context.Context, r tools.UndoRequest) (labels []string, at string, err error)
	// Explain explains why something happened or did not happen.
	Explain(ctx context.Context, r tools.ExplainRequest) (tools.Result, error)
	// Usage and Budget return the figures of `hob usage`.
	api.Usage
}

// Tools returns the category's tools.
func Tools(e Engine) []tools.Tool {
	return []tools.Tool{statusTool(e), undoTool(e), explainTool(e), usageStats(e)}
}

type statusIn struct{}

func statusTool(e Engine) tools.Tool {
	return tools.New(tools.Def[statusIn]{
		Spec: tools.Spec{
			Name: "status", Category: "system", Effects: tools.Read,
			Description: "Say what Hob is doing: model, queue, watchers, schedules, channels, machine.",
			Keywords:    "status health running uptime version what are you doing system",
		},
		Summary: func(statusIn) string { return "Show the status" },
		Run: func(ctx context.Context, c tools.Call, _ statusIn) (tools.Result, error) {
			r, err := e.Status(ctx)
			if err != nil {
				return tools.Result{}, err
			}
			r.Running = max(0, r.Running-1) // do not count the turn that asks for the status
			return tools.Result{Text: FormatStatus(r, c.Now), Data: r, Source: statusProvenance(r)}, nil
		},
	})
}

// statusProvenance returns the provenance of the status text. Errors of channels quote remote
// servers.
func statusProvenance(r api.Status) provenance.Source {
	if slices.ContainsFunc(r.Channels, func(c api.ChannelState) bool { return c.Error != "" }) {
		return provenance.Outside
	}
	return provenance.Tool
}

// FormatStatus returns the status as text.
func FormatStatus(r api.Status, now time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", r.Name, r.Version)
	if r.Daemon {
		fmt.Fprintf(&b, ", up %s", r.Uptime.Round(time.Second))
	} else {
		b.WriteString(", without a daemon: reminders, watchers and schedules wait until `hob start`")
	}
	fmt.Fprintf(&b, "\nModel: %s", r.Model)
	if r.ModelReason != "" {
		fmt.Fprintf(&b, " (%s)", r.ModelReason)
	}
	fmt.Fprintf(&b, "; level %s", r.Level)
	for _, p := range r.Problems {
		b.WriteString("\nProblem" + formatProblem(p, now))
	}
	if r.Paused {
		fmt.Fprintf(&b, "\nPaused %s: no background work starts", r.PausedText)
	}
	if r.Restored != "" {
		fmt.Fprintf(&b, "\nRestored from %s: %s on hold; see them with `hob restore --pending`, then run `hob restore --release all` or `--drop all`", r.Restored, textnorm.CountNoun(r.Held, "item", "items"))
	}
	fmt.Fprintf(&b, "\nWork: %d running, %d queued, %s waiting for you", r.Running, r.Pending, textnorm.CountNoun(r.Questions, "question", "questions"))
	for _, h := range r.HeldSources {
		fmt.Fprintf(&b, "\n%s: %s, so %s; to answer, see: hob approvals list", h.Session, textnorm.CountNoun(h.Requests, "turn is waiting for your answer", "turns are waiting for your answers"), textnorm.CountNoun(h.Waiting, "later event is waiting", "later events are waiting"))
	}
	fmt.Fprintf(&b, "\nWatching: %s, %s, %s", textnorm.CountNoun(r.Watchers, "watcher", "watchers"), textnorm.CountNoun(r.Schedules, "schedule", "schedules"), textnorm.CountNoun(r.Reminders, "reminder", "reminders"))
	if !r.Next.IsZero() {
		fmt.Fprintf(&b, "; next %s", dateparse.Format(r.Next, now))
	}
	if r.Goals > 0 {
		fmt.Fprintf(&b, "\nGoals: %d", r.Goals)
		if r.GoalsWaiting > 0 {
			fmt.Fprintf(&b, ", %d waiting for your answer", r.GoalsWaiting)
		}
		if !r.NextReview.IsZero() {
			fmt.Fprintf(&b, "; next review %s", dateparse.Format(r.NextReview.In(now.Location()), now))
		}
	}
	for _, c := range r.Channels {
		fmt.Fprintf(&b, "\nChannel %s: %s", c.Name, c.State)
		if c.Error != "" {
			b.WriteString(" — " + c.Error)
		}
	}
	fmt.Fprintf(&b, "\nMachine: %s; database %s, disk free %s", r.Machine, formatBytes(uint64(max(0, r.DatabaseSize))), formatBytes(r.DiskFree))
	fmt.Fprintf(&b, "\nMemory: %s, %s in total", textnorm.CountNoun(r.Facts, "fact", "facts"), textnorm.CountNoun(r.Rows, "row", "rows"))
	if r.Behind > 0 {
		fmt.Fprintf(&b, ", %d of them not in the index yet", r.Behind)
	}
	if r.AuditLines > 0 {
		fmt.Fprintf(&b, "\nAudit log: %d lines, head %.16s", r.AuditLines, r.AuditHead)
	}
	return b.String()
}

// addSentence appends a sentence to one that has no full stop and may be a question.
func addSentence(s, next string) string {
	if strings.HasSuffix(s, "?") {
		return s + " " + next
	}
	return s + ". " + next
}

// formatProblem formats a problem as one line.
func formatProblem(p api.Problem, now time.Time) string {
	s := ": " + p.Text
	if !p.Since.IsZero() {
		s = " since " + dateparse.Format(p.Since.In(now.Location()), now) + s
	}
	switch {
	case p.Next.After(now):
		s = addSentence(s, "Hob tries again with the first message after "+p.Next.In(now.Location()).Format(time.TimeOnly))
	case !p.Next.IsZero():
		s = addSentence(s, "Hob tries again with the next message")
	}
	if p.Remedy != "" {
		s = addSentence(s, strings.ToUpper(p.Remedy[:1])+p.Remedy[1:])
	}
	return s
}

// formatBytes formats a number of bytes.
func formatBytes(n uint64) string {
	units := []string{"B", "KB", "MB", "GB", "TB"}
	f, i := float64(n), 0
	for f >= 1000 && i < len(units)-1 {
		f, i = f/1000, i+1
	}
	if i == 0 {
		return strconv.FormatUint(n, 10) + " B"
	}
	return fmt.Sprintf("%.1f %s", f, units[i])
}
