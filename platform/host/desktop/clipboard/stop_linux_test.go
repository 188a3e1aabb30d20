package clipboard

import "syscall"

const stopSignal = syscall.SIGSTOP
