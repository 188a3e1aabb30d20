package tasks

import (
	"errors"
	"slices"
	"strings"
	"time"

	"hob/platform/text/dateparse"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// none is the value that clears a field in update_task.
const none = "none"

func titleField(s string) (string, error) {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
	switch {
	case s == "":
		return "", tools.Errorf(tools.InvalidArguments, "the task has no title")
	case len(s) > maxTitle:
		return "", tools.Errorf(tools.InvalidArguments, "the title is longer than %d bytes; move the rest to notes", maxTitle)
	}
	return s, nil
}

func notesField(s string) (string, error) {
	s = strings.TrimSpace(strings.ToValidUTF8(s, "\uFFFD"))
	if len(s) > maxNotes {
		return "", tools.Errorf(tools.InvalidArguments, "the notes are longer than %d bytes", maxNotes)
	}
	return s, nil
}

func projectField(s string) string {
	return textnorm.Ellipsize(strings.ToValidUTF8(s, "\uFFFD"), 100)
}

func priorityField(s string) (string, error) {
	s = strings.ToLower(strings.TrimSpace(s))
	if s == "" || slices.Contains(priorityNames(), s) {
		return s, nil
	}
	switch s {
	case "normal":
		return "medium", nil
	case "urgent", "highest":
		return "critical", nil
	}
	return "", tools.Errorf(tools.InvalidArguments, "priority must be low, medium, high or critical, not %q", tools.Clean(textnorm.Ellipsize(s, 40)))
}

// dueField parses a time in plain words and returns the time in the stored form.
func dueField(s string, now time.Time) (string, error) {
	s = strings.TrimSpace(s)
	if s == "" {
		return "", nil
	}
	m, err := parseMoment(s, now)
	if err != nil {
		return "", err
	}
	if m.HasClock {
		return m.Time.Format(time.RFC3339), nil
	}
	return m.Time.Format(time.DateOnly), nil
}

func parseMoment(s string, now time.Time) (dateparse.Moment, error) {
	m, err := dateparse.Parse(s, now)
	if err == nil {
		return m, nil
	}
	if _, ok := errors.AsType[*dateparse.AmbiguousError](err); ok || errors.Is(err, dateparse.ErrNotUnderstood) {
		return m, tools.Errorf(tools.InvalidArguments, "%w", tools.CleanErr(err))
	}
	return m, err
}
