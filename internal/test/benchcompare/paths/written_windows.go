package paths

import "os"

// written returns 0: Windows does not tell.
func written(*os.ProcessState) int64 { return 0 }
