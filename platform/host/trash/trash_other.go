//go:build !linux && !darwin && !windows

package trash

import (
	"errors"
	"fmt"
	"os"
	"time"
)

func (c *Can) put(*os.Root, string, time.Time) (Item, error) {
	return Item{}, fmt.Errorf("%w on this system: %w", ErrNoTrash, errors.ErrUnsupported)
}

func (c *Can) restore(Item, *os.Root, string) error {
	return fmt.Errorf("%w on this system: %w", ErrNoTrash, errors.ErrUnsupported)
}
