package daemon

import (
	"context"

	"hob/autonomy/learn"
	"hob/channels/web"
)

func (b *backend) listLessons(ctx context.Context, q web.Query) (any, error) {
	return b.d.learner.Lessons(ctx, q.All)
}

func (b *backend) listUser(ctx context.Context, _ web.Query) (any, error) {
	return b.d.learner.User(ctx)
}

// changeLearned changes a lesson or an entry about the user.
func (b *backend) changeLearned(ctx context.Context, name string, q web.Query) (any, error) {
	c := learn.Change{Text: q.Text, Retired: q.State == "retired", Delete: q.State == "deleted"}
	if name == "memory/lessons" {
		x, err := b.d.learner.ChangeLesson(ctx, q.Of, c)
		return x, classifyError(err)
	}
	if c.Retired { // there is no difference: nothing refers to it
		c = learn.Change{Delete: true}
	}
	e, err := b.d.learner.ChangeUser(ctx, q.Of, c)
	return e, classifyError(err)
}
