package web

import "context"

// Try searches once, to see whether key and address are good. Results are not
// looked at: a service may know nothing of a word.
func (d Deps) Try(ctx context.Context) error {
	e, err := d.engine(ctx)
	if err != nil {
		return err
	}
	if _, err := e.find(ctx, "weather", 1); err != nil {
		return e.failed(err)
	}
	return nil
}
