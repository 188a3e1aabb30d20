package web

import "context"

// Try runs one search to check key and address. It ignores the results: a service may find
// nothing for a word.
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
