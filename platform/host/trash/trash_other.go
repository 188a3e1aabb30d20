//go:build !linux && !darwin && !windows

package trash

import (
	"errors"
	"fmt"
	"os"
	"time"
)

func (c *Store) moveToTrash(*os.Root, string, time.Time) (Item, error) {
	return Item{}, fmt.Errorf("%w on this system: %w", ErrNoTrash, errors.ErrUnsupported)
}

func (c *Store) restoreItem(Item, *os.Root, string) error {
	return fmt.Errorf("%w on this system: %w", ErrNoTrash, errors.ErrUnsupported)
}
