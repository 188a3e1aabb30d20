// Package tasks provides tools for tasks (create_task, list_tasks, update_task, complete_task,
// delete_task), reminders (create_reminder, list_reminders, cancel_reminder, complete_reminder),
// daily_briefing and project_status.
//
// This package owns the table of tasks. Hob's own reminders are watchers, which the watchers'
// manager stores and fires. The tools also show the items of the lists in the owner's accounts and
// apps. These items are untrusted, because other people share the lists. Hob does not carry out
// tasks; it carries out goals.
package tasks

import (
	"context"
	"errors"
	"time"

	"hob/knowledge"
	"hob/platform/host/gitrepo"
	"hob/platform/pim"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/tools"
	"hob/watchers"
)

// Clock manages reminders; *watchers.Manager implements it.
type Clock interface {
	CreateTx(tx *store.Tx, spec watchers.Spec) (watchers.Spec, error)
	CancelTx(tx *store.Tx, id string) (watchers.Spec, error)
	RestoreTx(tx *store.Tx, spec watchers.Spec) error
	ListIn(q store.Querier, f watchers.Filter) ([]watchers.Spec, error)
	Upcoming(ctx context.Context, from, to time.Time) ([]watchers.Occurrence, error)
	Describe(s watchers.Spec) string
	NextWords(s watchers.Spec, now time.Time) string
}

// Deps are the dependencies of the tools.
type Deps struct {
	Knowledge *knowledge.Base
	Clock     Clock
	Store     *store.Store
	// Lists returns the to-do lists of the owner's accounts and apps. If it is nil, only Hob's own
	// reminders exist.
	Lists func() []pim.Reminders
	// NewIn selects the store of new reminders: "" or "hob" for Hob's own store, otherwise the name
	// of a list in Lists.
	NewIn string
	// Briefs are the sections of daily_briefing, in order.
	Briefs []tools.BriefSource
	// Folders finds the folders of projects, and Repository reads the git repository in a folder.
	// If one is nil, project_status does not report on it.
	Folders    Folders
	Repository func(ctx context.Context, dir string, since time.Time) (gitrepo.Status, error)
	// Past and Ahead are the sections of weekly_review about the past and the coming days, in order.
	Past, Ahead []tools.BriefSource
}

// Tools returns the category's tools.
func Tools(d Deps) []tools.Tool {
	out := []tools.Tool{
		d.createTask(), d.listTasks(), d.updateTask(), d.completeTask(), d.deleteTask(),
		d.createReminder(), d.listReminders(), d.updateReminder(), d.cancelReminder(), d.dailyBriefing(), d.weeklyReview(), d.projectStatus(),
	}
	if d.Lists != nil {
		out = append(out, d.completeReminder())
	}
	return out
}

// Migrations returns the tables of this package.
func Migrations() []store.MigrationSet {
	return []store.MigrationSet{{Owner: "tasks", Steps: []string{`
CREATE TABLE tasks (
	n INTEGER PRIMARY KEY,
	id TEXT NOT NULL UNIQUE,
	title TEXT NOT NULL,
	status TEXT NOT NULL,
	due TEXT NOT NULL,
	priority TEXT NOT NULL,
	project TEXT NOT NULL,
	notes TEXT NOT NULL,
	provenance TEXT NOT NULL,
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL,
	done_at INTEGER NOT NULL
);
CREATE INDEX tasks_status ON tasks (status);`}}}
}

// callProvenance returns the provenance of a new row.
func callProvenance(c tools.Call) provenance.Source { return provenance.Worst(c.Provenance) }

// classifyError maps errors of the watchers' manager to tool errors.
func classifyError(err error) error {
	switch {
	case errors.Is(err, watchers.ErrInvalid):
		return tools.Errorf(tools.InvalidArguments, "%w", tools.CleanErr(err))
	case errors.Is(err, watchers.ErrNotFound):
		return tools.Errorf(tools.NotFound, "%w", tools.CleanErr(err))
	}
	return err
}
