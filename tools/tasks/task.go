package tasks

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"hob/autonomy/api"
	"hob/knowledge"
	"hob/platform/provenance"
	"hob/platform/store"
	"hob/platform/text/dateparse"
	"hob/platform/text/textnorm"
	"hob/tools"
)

// The states of a task.
const (
	statusOpen = "open"
	statusDone = "done"
)

const kindTask = "task"

// Limits of a task's text fields, in bytes.
const (
	maxTitle = 500
	maxNotes = 20_000
)

// Task is one stored task.
type Task struct {
	ID     string `json:"id"`
	Title  string `json:"title"`
	Status string `json:"status"` // open or done
	// Due is a day (2026-03-10), an instant (RFC 3339) or empty.
	Due        string            `json:"due"`
	Priority   string            `json:"priority"` // low, medium, high, critical or empty
	Project    string            `json:"project"`
	Notes      string            `json:"notes"`
	Provenance provenance.Source `json:"provenance"`
	CreatedAt  time.Time         `json:"created_at"`
	UpdatedAt  time.Time         `json:"updated_at"`
	DoneAt     time.Time         `json:"done_at,omitzero"`
}

// List returns the open tasks, or all tasks if all is set, newest first.
func List(ctx context.Context, st *store.Store, all bool) ([]Task, error) {
	return queryTasks(st.Reader(ctx), "WHERE status = ? OR ? ORDER BY n DESC", statusOpen, all)
}

// API lists the tasks for users.
type API struct{ Store *store.Store }

// Tasks implements api.Tasks.
func (a API) Tasks(ctx context.Context, q api.Query) ([]api.Task, error) {
	list, err := List(ctx, a.Store, q.All)
	out := make([]api.Task, len(list))
	for i, t := range list {
		out[i] = api.Task(t)
	}
	return out, err
}

const columns = "id, title, status, due, priority, project, notes, provenance, created_at, updated_at, done_at"

func queryTasks(q store.Querier, tail string, args ...any) (out []Task, err error) {
	rows, err := q.Query("SELECT "+columns+" FROM tasks "+tail, args...)
	if err != nil {
		return nil, fmt.Errorf("tasks: read: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	out = []Task{}
	for rows.Next() {
		t, err := scanTask(rows)
		if err != nil {
			return nil, fmt.Errorf("tasks: read: %w", err)
		}
		out = append(out, t)
	}
	return out, rows.Err()
}

func scanTask(row interface{ Scan(...any) error }) (Task, error) {
	var t Task
	var created, updated, done int64
	err := row.Scan(&t.ID, &t.Title, &t.Status, &t.Due, &t.Priority, &t.Project, &t.Notes, &t.Provenance, &created, &updated, &done)
	t.CreatedAt, t.UpdatedAt, t.DoneAt = store.Time(created), store.Time(updated), store.Time(done)
	return t, err
}

func taskByID(q store.Querier, id string) (t Task, ok bool, err error) {
	t, err = scanTask(q.QueryRow("SELECT "+columns+" FROM tasks WHERE id = ?", id))
	if errors.Is(err, sql.ErrNoRows) {
		return t, false, nil
	}
	return t, err == nil, err
}

// findTask finds the task that query names. It prefers open tasks.
func findTask(q store.Querier, query, project string) (Task, error) {
	key := func(t Task) (string, string) { return t.ID, t.Title }
	other := func(t Task) bool { return project != "" && !textnorm.EqualFolded(t.Project, project) }
	open, err := queryTasks(q, "WHERE status = ? ORDER BY n DESC", statusOpen)
	if err != nil {
		return Task{}, err
	}
	open = slices.DeleteFunc(open, other)
	t, err := tools.Pick("open task", query, open, key)
	if err = tools.Quoting(err, taskSources(open)...); err == nil || tools.CodeOf(err) != tools.NotFound {
		return t, err
	}
	done, derr := queryTasks(q, "WHERE status = ? ORDER BY n DESC LIMIT 500", statusDone)
	if derr != nil {
		return Task{}, derr
	}
	if t, derr := tools.Pick("task", query, slices.DeleteFunc(done, other), key); derr == nil {
		return t, nil
	}
	return Task{}, err
}

func taskSources(list []Task) []provenance.Source {
	out := make([]provenance.Source, len(list))
	for i, t := range list {
		out[i] = t.Provenance
	}
	return out
}

// tasksProvenance returns the provenance of a result that contains the text of the tasks.
func tasksProvenance(list ...Task) provenance.Source {
	return provenance.Worst(append([]provenance.Source{provenance.Tool}, taskSources(list)...)...)
}

// insertTaskRow inserts a new task with its index entry.
func (d Deps) insertTaskRow(tx *store.Tx, t Task) error {
	_, err := tx.Exec("INSERT INTO tasks ("+columns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		t.ID, t.Title, t.Status, t.Due, t.Priority, t.Project, t.Notes, string(t.Provenance),
		store.Millis(t.CreatedAt), store.Millis(t.UpdatedAt), store.Millis(t.DoneAt))
	if err != nil {
		return fmt.Errorf("tasks: add: %w", err)
	}
	return d.indexTaskRow(tx, t)
}

func (d Deps) updateTaskRow(tx *store.Tx, t Task) error {
	_, err := tx.Exec("UPDATE tasks SET title = ?, status = ?, due = ?, priority = ?, project = ?, notes = ?, provenance = ?, updated_at = ?, done_at = ? WHERE id = ?",
		t.Title, t.Status, t.Due, t.Priority, t.Project, t.Notes, string(t.Provenance), store.Millis(t.UpdatedAt), store.Millis(t.DoneAt), t.ID)
	if err != nil {
		return fmt.Errorf("tasks: update: %w", err)
	}
	return d.indexTaskRow(tx, t)
}

func (d Deps) deleteTaskRow(tx *store.Tx, id string) error {
	if _, err := tx.Exec("DELETE FROM tasks WHERE id = ?", id); err != nil {
		return fmt.Errorf("tasks: delete: %w", err)
	}
	return d.Knowledge.UnindexTx(tx, kindTask, id)
}

func (d Deps) indexTaskRow(tx *store.Tx, t Task) error {
	return d.Knowledge.IndexTx(tx, knowledge.Doc{
		Kind: kindTask, Ref: t.ID, Title: t.Title, At: t.CreatedAt, Provenance: t.Provenance,
		Text: strings.TrimSpace(t.Project + "\n" + t.Notes),
	})
}

// taskUndo is the undo data of a call that changed a task.
type taskUndo struct {
	Before Task   `json:"before"`
	After  string `json:"after"` // digest of the task after the call
}

func taskDigest(t Task) string {
	b, err := json.Marshal(t)
	if err != nil { // a programming error: a Task is plain data
		panic(err)
	}
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:12])
}

// undoChange restores the previous version of a task.
func (d Deps) undoChange(_ context.Context, tx *store.Tx, data json.RawMessage) (string, error) {
	var u taskUndo
	if err := json.Unmarshal(data, &u); err != nil {
		return "", tools.Errorf(tools.Failed, "the undo record cannot be read: %w", err)
	}
	now, ok, err := taskByID(tx, u.Before.ID)
	switch {
	case err != nil:
		return "", err
	case !ok:
		return "", tools.Quoting(tools.Errorf(tools.NotFound, "the task %q was deleted", tools.Clean(u.Before.Title)), u.Before.Provenance)
	case taskDigest(now) != u.After:
		return "", tools.Quoting(tools.Errorf(tools.Conflict, "the task %q has changed; undo would overwrite the change", tools.Clean(now.Title)), now.Provenance)
	}
	return fmt.Sprintf("Restored the previous version of the task %q.", u.Before.Title), d.updateTaskRow(tx, u.Before)
}

// dueAt returns when a task is due: the end of its day if it has no time.
func (t Task) dueAt(loc *time.Location) (at time.Time, ok bool) {
	if day, err := time.ParseInLocation(time.DateOnly, t.Due, loc); err == nil {
		return day.AddDate(0, 0, 1), true
	}
	if at, err := time.Parse(time.RFC3339, t.Due); err == nil {
		return at.In(loc), true
	}
	return time.Time{}, false
}

// dueWords formats the due time: "tomorrow at 09:00", "Tue 10 Mar".
func (t Task) dueWords(now time.Time) string {
	if day, err := time.ParseInLocation(time.DateOnly, t.Due, now.Location()); err == nil {
		return dateparse.FormatDay(day, now)
	}
	if at, err := time.Parse(time.RFC3339, t.Due); err == nil {
		return dateparse.Format(at, now)
	}
	return t.Due
}

// Open reports whether the task is not done.
func (t Task) Open() bool { return t.Status == statusOpen }

// Overdue reports whether the task is late. It uses the time zone of now.
func (t Task) Overdue(now time.Time) bool { return t.isOverdue(now) }

func (t Task) isOverdue(now time.Time) bool {
	at, ok := t.dueAt(now.Location())
	return ok && t.Status == statusOpen && at.Before(now)
}

// detailsText returns the details of a task that follow its title.
func (t Task) detailsText(now time.Time) string {
	var parts []string
	switch {
	case t.Status == statusDone && !t.DoneAt.IsZero():
		parts = append(parts, "done "+dateparse.FormatDay(t.DoneAt, now))
	case t.isOverdue(now):
		parts = append(parts, "overdue since "+t.dueWords(now))
	case t.Due != "":
		parts = append(parts, "due "+t.dueWords(now))
	}
	if t.Priority != "" {
		parts = append(parts, t.Priority+" priority")
	}
	if t.Project != "" {
		parts = append(parts, "project "+t.Project)
	}
	return strings.Join(parts, ", ")
}

// taskLine formats a task as one line of a list.
func (t Task) taskLine(now time.Time) string {
	s := textnorm.Ellipsize(t.Title, 200)
	if d := t.detailsText(now); d != "" {
		s += " (" + d + ")"
	}
	return s
}

func priorityNames() []string { return []string{"critical", "high", "medium", "low"} }

// compareUrgency orders open tasks by due time, priority and age.
func compareUrgency(loc *time.Location) func(a, b Task) int {
	rank := func(t Task) int {
		i := slices.Index(priorityNames(), t.Priority)
		if i < 0 {
			return 2 // a task without a priority ranks as medium
		}
		return i
	}
	return func(a, b Task) int {
		x, hasX := a.dueAt(loc)
		y, hasY := b.dueAt(loc)
		if hasX != hasY {
			if hasX {
				return -1
			}
			return 1
		}
		return cmp.Or(x.Compare(y), cmp.Compare(rank(a), rank(b)), a.CreatedAt.Compare(b.CreatedAt), strings.Compare(a.ID, b.ID))
	}
}
