package daemon

import (
	"context"

	"hob/autonomy/api"
	"hob/autonomy/learn"
)

// Lessons implements api.Learned.
func (b *backend) Lessons(ctx context.Context, q api.Query) ([]api.Lesson, error) {
	list, err := b.d.learner.Lessons(ctx, q.All)
	return mapEach(list, apiLesson), classifyError(err)
}

// ChangeLesson implements api.Learned.
func (b *backend) ChangeLesson(ctx context.Context, id string, c api.LearnedChange) (api.Lesson, error) {
	l, err := b.d.learner.ChangeLesson(ctx, id, learn.Change{Text: c.Text, Retired: c.Retire, Delete: c.Delete})
	return apiLesson(l), classifyError(err)
}

// UserEntries implements api.Learned.
func (b *backend) UserEntries(ctx context.Context) ([]api.UserEntry, error) {
	list, err := b.d.learner.User(ctx)
	return mapEach(list, apiUserEntry), classifyError(err)
}

// ChangeUserEntry implements api.Learned. Nothing refers to a retired entry, so it is deleted.
func (b *backend) ChangeUserEntry(ctx context.Context, id string, c api.LearnedChange) (api.UserEntry, error) {
	e, err := b.d.learner.ChangeUser(ctx, id, learn.Change{Text: c.Text, Delete: c.Delete || c.Retire})
	return api.UserEntry(e), classifyError(err)
}
