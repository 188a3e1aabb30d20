//go:build !linux && !darwin

package command

import "time"

func boundsOf(time.Duration) resourceLimits { return resourceLimits{} }

func applyLimits(resourceLimits) error { return nil }
