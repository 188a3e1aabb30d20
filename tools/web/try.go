package web

import "context"

// Try runs one search to check key and address. It ignores the results: a service may find
// nothing for a word.
func (d Deps) Try(ctx context.Context) error {
	e, err := d.newEngine(ctx)
	if err != nil {
		return err
	}
	if _, err := e.searchEngine(ctx, "weather", 1); err != nil {
		return e.searchError(err)
	}
	return nil
}
