package web

import "context"

// Try runs one search to check the key and the address. It ignores the results, because a service
// may return none.
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
