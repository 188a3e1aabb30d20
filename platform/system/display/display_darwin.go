package display

import "hob/platform/osrun"

func newBackend(o Options) backend { return mac{o.Scripts, osrun.Programs{Getenv: o.Getenv}} }
