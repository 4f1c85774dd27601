package transport

import (
	"os"
	"os/exec"
	"syscall"
	"unsafe"
)

// ownGroup does nothing: the job of the lifeline is the group.
func ownGroup(*exec.Cmd) {}

func terminate(cmd *exec.Cmd) { kill(cmd) }

// kill fails only if the process has already exited. The program's children end with its job,
// when the lifeline is released.
func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

func signalName(*os.ProcessState) string { return "" }

func shell() string { return "" }

// dieWithThread is for Linux.
func dieWithThread(*exec.Cmd) bool { return false }

// lifeline ends a program and its children if this process ends without Close: a job object ends
// its processes with its last handle.
type lifeline struct{ job syscall.Handle }

var (
	kernel32        = syscall.NewLazyDLL("kernel32.dll")
	createJobObject = kernel32.NewProc("CreateJobObjectW")
	setInformation  = kernel32.NewProc("SetInformationJobObject")
	assignProcess   = kernel32.NewProc("AssignProcessToJobObject")
)

// extendedLimits is JOBOBJECT_EXTENDED_LIMIT_INFORMATION.
type extendedLimits struct {
	perProcessUserTime, perJobUserTime int64
	limitFlags                         uint32
	minWorkingSet, maxWorkingSet       uintptr
	activeProcesses                    uint32
	affinity                           uintptr
	priorityClass, schedulingClass     uint32
	ioCounters                         [6]uint64
	processMemory, jobMemory           uintptr
	peakProcessMemory, peakJobMemory   uintptr
}

const (
	extendedLimitInformation = 9      // JobObjectExtendedLimitInformation
	killOnJobClose           = 0x2000 // JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	// Rights for AssignProcessToJobObject: PROCESS_SET_QUOTA and PROCESS_TERMINATE.
	assignAccess = 0x0100 | 0x0001
)

// newLifeline puts a program that has just been started into a job of its own. Children that it
// started before are not in the job.
func newLifeline(program *exec.Cmd, _ string) *lifeline {
	l := &lifeline{}
	job, _, _ := createJobObject.Call(0, 0)
	if job == 0 {
		return l
	}
	limits := extendedLimits{limitFlags: killOnJobClose}
	done, _, _ := setInformation.Call(job, extendedLimitInformation, uintptr(unsafe.Pointer(&limits)), unsafe.Sizeof(limits))
	if done != 0 {
		process, err := syscall.OpenProcess(assignAccess, false, uint32(program.Process.Pid))
		if err == nil {
			done, _, _ = assignProcess.Call(job, uintptr(process))
			_ = syscall.CloseHandle(process)
		} else {
			done = 0
		}
	}
	if done == 0 {
		_ = syscall.CloseHandle(syscall.Handle(job))
		return l
	}
	l.job = syscall.Handle(job)
	return l
}

// release ends all processes of the job.
func (l *lifeline) release() {
	if l.job != 0 {
		_ = syscall.CloseHandle(l.job)
	}
}
