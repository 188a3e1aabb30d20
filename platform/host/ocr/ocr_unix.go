//go:build !darwin && !windows

package ocr

import "hob/platform/host/osrun"

func newBackend(o Options) backend { return tesseract{osrun.Programs{Getenv: o.Getenv}} }
