package workload

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"slices"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

// meter measures what happens between begin and end in this process.
type meter struct {
	start          time.Time
	cpu            time.Duration
	mallocs, bytes uint64
}

func begin() meter {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return meter{mallocs: m.Mallocs, bytes: m.TotalAlloc, cpu: cpuTime(), start: time.Now()}
}

// span is what was measured.
type span struct {
	elapsed, cpu   time.Duration
	mallocs, bytes uint64
}

func (m meter) end() span {
	s := span{elapsed: time.Since(m.start), cpu: cpuTime() - m.cpu}
	var after runtime.MemStats
	runtime.ReadMemStats(&after)
	s.mallocs, s.bytes = after.Mallocs-m.mallocs, after.TotalAlloc-m.bytes
	return s
}

func (s *span) add(other span) {
	s.elapsed += other.elapsed
	s.cpu += other.cpu
	s.mallocs += other.mallocs
	s.bytes += other.bytes
}

// per makes a result of a span with that many calls.
func (s span) per(calls int) Result {
	n := float64(max(calls, 1))
	return Result{
		Calls: calls, CPU: micros(s.cpu) / n, Allocs: float64(s.mallocs) / n, Bytes: float64(s.bytes) / n,
		PerSecond: float64(calls) / s.elapsed.Seconds(),
	}
}

// cpuTime is what this process has used, without its children.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// timesOffHeap is memory for n times outside the heap. On the heap it would
// be live memory that lets the collector run less often, and the clients that
// make the most garbage would look better than they are.
func timesOffHeap(n int) (times []time.Duration, free func(), err error) {
	const size = int(unsafe.Sizeof(time.Duration(0)))
	memory, err := syscall.Mmap(-1, 0, n*size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, nil, fmt.Errorf("memory for %d times: %w", n, err)
	}
	free = func() { _ = syscall.Munmap(memory) } // the process ends soon
	return unsafe.Slice((*time.Duration)(unsafe.Pointer(&memory[0])), n), free, nil
}

// percentiles sorts its argument.
func percentiles(times []time.Duration) (p50, p99 float64) {
	if len(times) == 0 {
		return 0, 0
	}
	slices.Sort(times)
	at := func(share float64) float64 { return micros(times[int(share*float64(len(times)-1))]) }
	return at(0.5), at(0.99)
}

// settle gives unused memory back, so that what follows is seen.
func settle() {
	runtime.GC()
	runtime.GC()
	debug.FreeOSMemory()
}

// resident and peak are bytes of memory of this process, 0 where the system
// does not tell (only Linux does, in this form).
func resident() float64 { return status("VmRSS:") }
func peak() float64     { return status("VmHWM:") }

func status(key string) float64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := bytes.Cut(text, []byte(key))
	fields := bytes.Fields(rest)
	if len(fields) == 0 {
		return 0
	}
	kb, err := strconv.ParseFloat(string(fields[0]), 64)
	if err != nil {
		return 0
	}
	return kb * 1024
}

// resetPeak makes the peak start anew from what is resident now. Where that
// cannot be done the peak is too high, never too low.
func resetPeak() { _ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }

// profile starts the profiles a cell asks for; what it returns writes them.
func profile(c Cell) (func() error, error) {
	if c.HeapProfile != "" {
		runtime.MemProfileRate = 1
		return func() error {
			f, err := os.Create(c.HeapProfile)
			if err != nil {
				return err
			}
			// The profile is of what the last collections have seen.
			runtime.GC()
			runtime.GC()
			if err := pprof.Lookup("allocs").WriteTo(f, 0); err != nil {
				return err
			}
			return f.Close()
		}, nil
	}
	if c.CPUProfile == "" {
		return func() error { return nil }, nil
	}
	f, err := os.Create(c.CPUProfile)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, err
	}
	return func() error {
		pprof.StopCPUProfile()
		return f.Close()
	}, nil
}
