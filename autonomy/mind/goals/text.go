package goals

import (
	"embed"
	"fmt"
	"strings"
	"sync"
	"time"

	"hob/platform/text/dateparse"
	"hob/platform/text/minitmpl"
)

//go:embed text/*.md.tmpl
var texts embed.FS

var templates = sync.OnceValue(func() *minitmpl.Template {
	return minitmpl.Must(minitmpl.ParseFS(texts, "text/*.md.tmpl"))
})

// Text returns the prompt for the model in a phase.
func Text(goal Goal, o EventPayload, now time.Time) (string, error) {
	if o.Rule && o.Phase == Act {
		return o.Decision.Action, nil
	}
	view := struct {
		Goal
		Action, Every, LastAt string
	}{Goal: goal, Action: o.Decision.Action, Every: FormatInterval(goal.Every)}
	if !goal.LastAt.IsZero() {
		view.LastAt = dateparse.Format(goal.LastAt.In(now.Location()), now)
	}
	name := map[Phase]string{Review: "review", Act: "act", Look: "look"}[o.Phase]
	var b strings.Builder
	if err := templates().ExecuteTemplate(&b, name+".md.tmpl", view); err != nil {
		return "", fmt.Errorf("goals: fill in a prompt: %w", err)
	}
	return strings.TrimSpace(b.String()), nil
}

// FormatInterval formats a number of seconds, for example as "2h", "1d" or "90s".
func FormatInterval(seconds int64) string {
	switch {
	case seconds%86400 == 0 && seconds > 0:
		return fmt.Sprintf("%dd", seconds/86400)
	case seconds%3600 == 0 && seconds > 0:
		return fmt.Sprintf("%dh", seconds/3600)
	case seconds%60 == 0 && seconds > 0:
		return fmt.Sprintf("%dm", seconds/60)
	}
	return fmt.Sprintf("%ds", seconds)
}
