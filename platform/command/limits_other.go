//go:build !linux && !darwin

package command

import "time"

func boundsOf(time.Duration) bounds { return bounds{} }

func bound(bounds) error { return nil }
