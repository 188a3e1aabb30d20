package health

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/dateparse"
	"hob/platform/text/shortid"
	"hob/platform/text/textnorm"
	"hob/tools"
)

type logHabitIn struct {
	Habit string   `json:"habit" jsonschema:"what was done, such as reading"`
	Value *float64 `json:"value,omitempty" jsonschema:"how much"`
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
		Summary: func(in logHabitIn) string { return "Log the habit " + strconv.Quote(textnorm.Ellipsize(in.Habit, 80)) },
		RunTx: func(_ context.Context, tx *store.Tx, c tools.Call, in logHabitIn) (tools.Result, error) {
			habit := strings.Join(strings.Fields(in.Habit), " ")
			if foldName(habit) == "" {
				return tools.Result{}, tools.Errorf(tools.InvalidArguments, "habit is empty")
			}
			day, err := tools.ParsePastDay(in.Date, c.Now)
			if err != nil {
				return tools.Result{}, err
			}
			e := Entry{
				ID: shortid.New("h"), Habit: textnorm.Ellipsize(habit, 100), Day: day.Format(time.DateOnly), Value: in.Value, Unit: textnorm.Ellipsize(in.Unit, 20),
				Note: textnorm.Ellipsize(in.Note, 500), Provenance: provenance.Worst(c.Provenance), CreatedAt: c.Now.UTC().Truncate(time.Millisecond),
			}
			if err := insertEntry(tx, e); err != nil {
				return tools.Result{}, err
			}
			list, err := queryStreaks(tx, habit, c.Now)
			if err != nil {
				return tools.Result{}, err
			}
			return tools.Result{Source: provenance.Tool, Text: logText(e, list, day, c.Now), Data: e, Undo: tools.NewUndo(fmt.Sprintf("remove the entry for %q", e.Habit), e)}, nil
		},
		UndoTx: func(_ context.Context, tx *store.Tx, data json.RawMessage) (string, error) {
			var e Entry
			if err := json.Unmarshal(data, &e); err != nil {
				return "", tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
			}
			res, err := tx.Exec(`DELETE FROM habits WHERE id = ?`, e.ID)
			if err != nil {
				return "", fmt.Errorf("habits: delete entry: %w", err)
			}
			if n, err := res.RowsAffected(); err != nil || n == 0 {
				return "", tools.Errorf(tools.NotFound, "the entry no longer exists")
			}
			return fmt.Sprintf("Removed the entry for %q.", e.Habit), nil
		},
	})
}

func logText(e Entry, list []Streak, day, now time.Time) string {
	text := fmt.Sprintf("Logged %s", e.Habit)
	if e.Value != nil {
		text += " (" + strings.TrimSpace(strconv.FormatFloat(*e.Value, 'f', -1, 64)+" "+e.Unit) + ")"
	}
	text += " for " + dateparse.FormatDay(day, now) + "."
	if len(list) == 1 && list[0].Current > 1 {
		text += fmt.Sprintf(" %d days in a row.", list[0].Current)
	}
	return text
}
