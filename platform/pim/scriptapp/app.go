// Package scriptapp contains the shared part of the drivers that automate local programs with
// scripts: apple and outlook. It runs the scripts of an app, maps their errors to those of pim, and
// converts between the data of the scripts and the types of pim.
package scriptapp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"hob/platform/host/osrun"
	"hob/platform/pim"
)

// App runs the scripts of one app.
type App struct {
	Runner osrun.Runner
	Driver string // the name of the driver
	App    osrun.App
	Wait   time.Duration // time limit of a script
	Load   func(file string) osrun.Script
}

// Name implements pim.Driver.
func (a App) Name() string { return a.Driver }

func (a App) runScript(ctx context.Context, file string, in, out any, write bool) error {
	return a.Runner.Run(ctx, osrun.Call{Script: a.Load(file), App: a.App, In: in, Write: write, Wait: a.Wait}, out)
}

// Read runs a script that only reads.
func (a App) Read(ctx context.Context, file string, in, out any) error {
	return convertError(a.runScript(ctx, file, in, out, false))
}

// Write runs a script that writes. If the script succeeds, Write returns the result of receipt; if
// the outcome is unknown, it returns an Uncertain receipt.
func (a App) Write(ctx context.Context, file string, in, out any, receipt func() pim.Receipt) (pim.Receipt, error) {
	err := a.runScript(ctx, file, in, out, true)
	switch {
	case err == nil:
		return receipt(), nil
	case osrun.IsUncertain(err):
		why := err.Error()
		if e, ok := errors.AsType[*osrun.Error](err); ok && e.Cause != "" {
			why = e.App + ": " + e.Cause
		}
		return pim.Receipt{Outcome: pim.Uncertain, Why: pim.SanitizeLine(why, 200)}, nil
	}
	return pim.Receipt{}, convertError(err)
}

// Undo runs a script that undoes a write.
func (a App) Undo(ctx context.Context, file string, in any) error {
	return convertError(a.runScript(ctx, file, in, nil, true))
}

// convertError maps the error of a script to an error of pim.
func convertError(err error) error {
	switch osrun.KindOf(err) {
	case osrun.NotFound:
		return fmt.Errorf("%w: %w", pim.ErrNotFound, err)
	case osrun.Changed:
		return fmt.Errorf("%w: %w", pim.ErrChanged, err)
	case osrun.Invalid:
		return fmt.Errorf("%w: %w", pim.ErrInvalid, err)
	}
	return err
}

// MarshalUndo encodes the undo record of a write. It returns nil if the record cannot be encoded.
func MarshalUndo(record any) []byte {
	b, err := json.Marshal(record)
	if err != nil {
		return nil
	}
	return b
}

// ReadUndo decodes the undo record of a write.
func ReadUndo[T any](b []byte) (record T, err error) {
	if err := json.Unmarshal(b, &record); err != nil {
		return record, fmt.Errorf("%w: invalid undo record: %w", pim.ErrInvalid, err)
	}
	return record, nil
}

// SearchWords returns the search words in lower case.
func SearchWords(s string) []string { return append([]string{}, strings.Fields(strings.ToLower(s))...) }

// SanitizeNote sanitizes the text fields of a note and sets its modification time from changed, in
// Unix milliseconds.
func SanitizeNote(n pim.Note, changed int64) pim.Note {
	n.Title, n.Text, n.Folder = pim.SanitizeLine(n.Title, 300), pim.SanitizeText(n.Text), pim.SanitizeLine(n.Folder, 120)
	n.Changed = time.UnixMilli(changed).UTC()
	return n
}

// SanitizeReminder sanitizes a reminder. day is its due date, or "" if it has none.
// SanitizeReminder returns an error if day cannot be parsed.
func SanitizeReminder(r pim.Reminder, day string, zone *time.Location) (pim.Reminder, error) {
	r.Title, r.Notes, r.List = pim.SanitizeLine(r.Title, 300), pim.SanitizeText(r.Notes), pim.SanitizeLine(r.List, 120)
	r.Priority = min(max(r.Priority, 0), 9)
	if day == "" {
		return r, nil
	}
	due, err := time.ParseInLocation(time.DateOnly, day, zone)
	if err == nil {
		r.Due, r.AllDay = due, true
	}
	return r, err
}

// OccurrenceRef returns the reference of an occurrence: the reference of the event and the start in
// Unix milliseconds.
func OccurrenceRef(event string, start int64) string {
	return event + "@" + strconv.FormatInt(start, 10)
}

// ParseOccurrenceRef parses an OccurrenceRef.
func ParseOccurrenceRef(ref string) (event string, start int64, ok bool) {
	at := strings.LastIndexByte(ref, '@')
	if at <= 0 {
		return "", 0, false
	}
	start, err := strconv.ParseInt(ref[at+1:], 10, 64)
	return ref[:at], start, err == nil
}
