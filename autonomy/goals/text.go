package goals

import (
	"embed"
	"fmt"
	"strings"
	"sync"
	"time"

	"hob/platform/when"
	"hob/platform/wording"
)

//go:embed text/*.md.tmpl
var texts embed.FS

var templates = sync.OnceValue(func() *wording.Template {
	return wording.Must(wording.ParseFS(texts, "text/*.md.tmpl"))
})

// Text returns the model's prompt in a phase.
func Text(goal Goal, o Order, now time.Time) (string, error) {
	if o.Rule && o.Phase == Act {
		return o.Decision.Action, nil
	}
	view := struct {
		Goal
		Action, Every, LastAt string
	}{Goal: goal, Action: o.Decision.Action, Every: Every(goal.Every)}
	if !goal.LastAt.IsZero() {
		view.LastAt = when.Format(goal.LastAt.In(now.Location()), now)
	}
	name := map[Phase]string{Review: "review", Act: "act", Look: "look"}[o.Phase]
	var b strings.Builder
	if err := templates().ExecuteTemplate(&b, name+".md.tmpl", view); err != nil {
		return "", fmt.Errorf("goals: %w", err)
	}
	return strings.TrimSpace(b.String()), nil
}

// Every formats a number of seconds: "2h", "1d", "90s".
func Every(seconds int64) string {
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
