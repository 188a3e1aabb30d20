package health

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"hob/knowledge/store"
	"hob/platform/phrase"
	"hob/platform/provenance"
	"hob/platform/shortid"
	"hob/platform/when"
	"hob/tools"
)

type logHabitIn struct {
	Habit string   `json:"habit" jsonschema:"what was done, such as reading"`
	Value *float64 `json:"value,omitempty"`
	Unit  string   `json:"unit,omitempty" jsonschema:"of value: minutes, km"`
	Date  string   `json:"date,omitempty" jsonschema:"default today"`
	Note  string   `json:"note,omitempty"`
}

func (d Deps) logHabit() tools.Tool {
	return tools.New(tools.Def[logHabitIn]{
		Spec: tools.Spec{
			Name: "log_habit", Category: "health", Effects: tools.Write,
			Description: "Log that a habit was done on a day.",
			Keywords:    "habit routine exercise meditate read run workout track did today",
		},
		Summary: func(in logHabitIn) string { return "Log the habit " + strconv.Quote(phrase.Cut(in.Habit, 80)) },
		RunTx: func(_ context.Context, tx *store.Tx, c tools.Call, in logHabitIn) (tools.Result, error) {
			habit := strings.Join(strings.Fields(in.Habit), " ")
			if fold(habit) == "" {
				return tools.Result{}, tools.Errorf(tools.InvalidArguments, "habit is empty")
			}
			day, err := tools.PastDay(in.Date, c.Now)
			if err != nil {
				return tools.Result{}, err
			}
			e := Entry{
				ID: shortid.New("h"), Habit: phrase.Cut(habit, 100), Day: day.Format(time.DateOnly), Value: in.Value, Unit: phrase.Cut(in.Unit, 20),
				Note: phrase.Cut(in.Note, 500), Provenance: provenance.Worst(c.Provenance), CreatedAt: c.Now.UTC().Truncate(time.Millisecond),
			}
			if err := insert(tx, e); err != nil {
				return tools.Result{}, err
			}
			list, err := streaks(tx, habit, c.Now)
			if err != nil {
				return tools.Result{}, err
			}
			return tools.Result{Source: provenance.Tool, Text: logText(e, list, day, c.Now), Data: e, Undo: tools.NewUndo(fmt.Sprintf("remove the entry of %q", e.Habit), e)}, nil
		},
		UndoTx: func(_ context.Context, tx *store.Tx, data json.RawMessage) (string, error) {
			var e Entry
			if err := json.Unmarshal(data, &e); err != nil {
				return "", tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
			}
			res, err := tx.Exec(`DELETE FROM habits WHERE id = ?`, e.ID)
			if err != nil {
				return "", fmt.Errorf("habits: %w", err)
			}
			if n, err := res.RowsAffected(); err != nil || n == 0 {
				return "", tools.Errorf(tools.Conflict, "the entry no longer exists")
			}
			return fmt.Sprintf("Removed the entry of %q.", e.Habit), nil
		},
	})
}

func logText(e Entry, list []Streak, day, now time.Time) string {
	text := fmt.Sprintf("Logged %s", e.Habit)
	if e.Value != nil {
		text += " (" + strings.TrimSpace(strconv.FormatFloat(*e.Value, 'f', -1, 64)+" "+e.Unit) + ")"
	}
	text += " for " + when.FormatDay(day, now) + "."
	if len(list) == 1 && list[0].Current > 1 {
		text += fmt.Sprintf(" %d days in a row.", list[0].Current)
	}
	return text
}
