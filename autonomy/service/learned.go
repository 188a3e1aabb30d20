package service

import (
	"context"

	"hob/autonomy/api"
	"hob/autonomy/mind/learn"
)

// Lessons implements api.Learned.
func (sv *Service) Lessons(ctx context.Context, q api.Query) ([]api.Lesson, error) {
	list, err := sv.o.Learner.Lessons(ctx, q.All)
	return ConvertEach(list, apiLesson), Classify(err)
}

// ChangeLesson implements api.Learned.
func (sv *Service) ChangeLesson(ctx context.Context, id string, c api.LearnedChange) (api.Lesson, error) {
	l, err := sv.o.Learner.ChangeLesson(ctx, id, learn.Change{Text: c.Text, Retired: c.Retire, Delete: c.Delete})
	return apiLesson(l), Classify(err)
}

// UserEntries implements api.Learned.
func (sv *Service) UserEntries(ctx context.Context) ([]api.UserEntry, error) {
	list, err := sv.o.Learner.User(ctx)
	return ConvertEach(list, apiUserEntry), Classify(err)
}

// ChangeUserEntry implements api.Learned. Nothing refers to a retired entry, so it is deleted.
func (sv *Service) ChangeUserEntry(ctx context.Context, id string, c api.LearnedChange) (api.UserEntry, error) {
	e, err := sv.o.Learner.ChangeUser(ctx, id, learn.Change{Text: c.Text, Delete: c.Delete || c.Retire})
	return api.UserEntry(e), Classify(err)
}
