#!/usr/bin/env python3
"""Each probe of periapt-doctor, on hosts as they may be: limits, cgroups, containers, kernels' settings, devices that this
machine has not. They are provoked (limits, a filter of system calls, no network), or files of /proc, /sys and /dev are
covered by others in a mount name space of one run of the doctor's. Both what is well and what is not must be told, and
the command that mends it.
"""
import ctypes
import json
import os
import platform
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

import launchers

FAKE_GPUS = os.path.join(os.path.dirname(os.path.abspath(sys.argv.pop(1))), "gpu")
DOCTOR = os.path.join(os.environ["PERIAPT_BIN"], "periapt-doctor")
GROUPS_2 = "0::/job/step\n"
GROUPS_1 = "5:cpu,cpuacct:/job/step\n4:memory:/job/step\n8:pids:/job/step\n"


def forbid(*numbers):
    """A filter of system calls for this process and all that it starts: these answer EPERM."""
    load, jump, answer, allow, refuse = 0x20, 0x15, 0x06, 0x7FFF0000, 0x00050000 | 1
    lines = [(load, 0, 0, 0)]
    for i, number in enumerate(numbers):
        lines.append((jump, len(numbers) - i, 0, number))
    lines += [(answer, 0, 0, allow), (answer, 0, 0, refuse)]
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in lines))
    header = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(lines), ctypes.addressof(program)))
    libc = ctypes.CDLL(None, use_errno=True)
    for call in ((38, 1, 0, 0, 0), (22, 2, ctypes.addressof(header), 0, 0)):  # no new privileges; the filter
        if libc.prctl(*(ctypes.c_ulong(word) for word in call)) != 0:
            raise OSError(ctypes.get_errno(), "prctl")


PROCESS_VM_READV, MEMFD_CREATE, IO_URING_SETUP = 310, 319, 425  # of x86-64


class Host:
    """What one run of the doctor sees. `files`: path -> text; folders of the kernel's that do not have the file are covered
    as a whole. `script`: more to do before it, in its name spaces."""

    def __init__(self, files=None, script="", spaces=(), before=None, words=(), **variables):
        self.files, self.script, self.spaces, self.before, self.words = files or {}, script, spaces, before, words
        self.variables = variables

    def cover(self, folder):
        """A shell script that puts the files where the doctor looks."""
        lines, covered = [], set()
        for number, (path, text) in enumerate(self.files.items()):
            source = os.path.join(folder, str(number))
            with open(source, "w", encoding="utf-8") as file:
                file.write(text)
            if os.path.exists(path) or path.startswith("/proc/self/"):
                lines.append(f"mount --bind {source} {path.replace('/proc/self/', '/proc/$$/')}")
                continue
            top = next(top for top in ("/sys/fs/cgroup", "/sys/class", "/proc/driver", "/proc/sys/kernel", "/dev") if path.startswith(top + "/"))
            if top not in covered:
                covered.add(top)
                lines.append(f"mount -t tmpfs none {top}")
                if top == "/dev":
                    lines += [f"mknod -m 666 /dev/{name} c 1 {minor}" for name, minor in (("null", 3), ("zero", 5), ("random", 8), ("urandom", 9))]
                    lines.append("mkdir /dev/shm")
            lines.append(f"mkdir -p {os.path.dirname(path)} && cp {source} {path}")
        return "\n".join(lines)

    def look(self):
        """The findings by their name, and the status."""
        with tempfile.TemporaryDirectory(prefix="periapt-doctor-") as folder:
            script = f"set -e\n{self.cover(folder)}\n{self.script}\nexec {' '.join(self.words)} {DOCTOR} --json"
            command = ["unshare", "--mount", "--propagation", "private", *self.spaces, "sh", "-c", script]
            done = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=self.before,
                                  env=launchers.environment(**self.variables))
        try:
            return {f["name"]: f for f in json.loads(done.stdout)["findings"]}, done.returncode
        except ValueError:
            raise AssertionError(f"no answer: {done.stdout}{done.stderr}") from None


class Probes(unittest.TestCase):
    def told(self, host, name, state, *words, remedy=""):
        """The finding of the name is so, says the words, and how to mend it."""
        findings, status = host.look()
        self.assertIn(name, findings)
        found = findings[name]
        self.assertEqual(found["state"], state, found)
        for word in words:
            self.assertIn(word, found["text"], found)
        if remedy:
            self.assertIn(remedy, found["remedy"], found)
        elif state == "good":
            self.assertEqual(found["remedy"], "", found)
        self.assertEqual(status, int(any(f["state"] == "broken" for f in findings.values())), findings)
        return found

    # ---- limits

    def test_locked_memory_matters_to_rdma_networks_only(self):
        low = ("prlimit", "--memlock=65536")
        none = Host({"/sys/class/net/none": ""}, "mkdir /sys/class/infiniband", words=low)  # a driver, and no adapter
        self.told(none, "locked memory", "good", "64 KiB", "of use to RDMA networks only")
        device = {"/sys/class/infiniband/mlx5_0/ports/1/state": "4: ACTIVE\n"}
        self.told(Host(device, words=low), "locked memory", "limited", "64 KiB", "can register no more",
                  remedy="ulimit -l unlimited")
        if subprocess.run(["prlimit", "--memlock=unlimited", "true"], capture_output=True, check=False).returncode == 0:
            self.told(Host(device, words=("prlimit", "--memlock=unlimited")), "locked memory", "good", "unlimited")

    def test_addresses(self):
        self.told(Host(words=("prlimit", "--as=unlimited")), "address space", "good", "unlimited")
        low = Host(words=("prlimit", "--as=4000000000"))
        self.told(low, "address space", "broken", "3.725 GiB", "terabytes of addresses", remedy="ulimit -v unlimited")
        self.told(low, "addresses", "broken", "cannot be reserved", remedy="ulimit -v unlimited")

    def test_open_files_and_processes(self):
        self.told(Host(words=("prlimit", "--nofile=8192")), "open files", "good", "8192")
        self.told(Host(words=("prlimit", "--nofile=100")), "open files", "limited", "100: a connection takes one",
                  remedy="ulimit -n 65536")
        self.told(Host(words=("prlimit", "--nproc=4096")), "processes", "good", "4096")
        self.told(Host(words=("prlimit", "--nproc=100")), "processes", "limited", "100: threads count too", remedy="ulimit -u unlimited")

    def test_overcommit_is_told_when_it_is_in_the_way(self):
        path = "/proc/sys/vm/overcommit_memory"
        self.assertNotIn("overcommit", Host({path: "0\n"}).look()[0])
        self.told(Host({path: "2\n"}), "overcommit", "limited", "vm.overcommit_memory=2", remedy="sysctl vm.overcommit_memory=0")

    def test_cgroups_of_both_versions(self):
        for groups, memory, pids, unlimited in (
                (GROUPS_2, "/sys/fs/cgroup/job/memory.max", "/sys/fs/cgroup/job/step/pids.max", "max"),
                (GROUPS_1, "/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "/sys/fs/cgroup/pids/job/step/pids.max", "9223372036854771712")):
            own = {"/proc/self/cgroup": groups}
            free = Host({**own, memory: unlimited, pids: "max"})
            self.told(free, "cgroup memory", "good", "no limit found")
            self.told(free, "cgroup processes", "good", "no limit found")
            low = Host({**own, memory: "2147483648", pids: "64"})
            self.told(low, "cgroup memory", "good", "2 GiB", os.path.dirname(memory))
            self.told(low, "cgroup processes", "limited", "64 (" + os.path.dirname(pids), remedy="--pids-limit -1")
            self.told(Host({**own, memory: "2147483648", pids: "4000"}), "cgroup processes", "good", "4000")

    def test_shared_memory_files_may_be_few(self):
        self.told(Host(script="mount -t tmpfs -o size=64k none /dev/shm"), "/dev/shm", "good", "64 KiB", "not used by message memory")

    def test_containers(self):
        plain = {"/proc/1/cgroup": "0::/init.scope\n"}
        programs = os.path.dirname(DOCTOR)  # on a file system of their own, maybe, which the overlay does not have
        root = ("mkdir u w m && mount -t overlay o -o lowerdir=/,upperdir=u,workdir=w m\n"
                "for k in proc sys dev tmp; do mount --rbind /$k m/$k; done; rm -f m/.dockerenv\n"
                f"mkdir -p m{programs} && mount --bind {programs} m{programs}\n")
        with tempfile.TemporaryDirectory() as folder:
            root = f"mount -t tmpfs none {folder}\ncd {folder}\n" + root
            if not os.path.exists("/.dockerenv"):
                self.told(Host(plain), "container", "good", "no sign of one")
            for mark, kind in (("/.dockerenv", "docker"), ("/run/.containerenv", "podman"), ("/.singularity.d", "apptainer")):
                script = f"{root} mkdir -p m{os.path.dirname(mark)} && touch m{mark}"
                found = Host(plain, script=script, words=("chroot", "m")).look()[0]["container"]
                self.assertEqual((found["state"], found["text"]), ("good", kind))
            self.told(Host({"/proc/1/cgroup": "0::/kubepods/x\n"}, script=f"{root}", words=("chroot", "m")), "container", "good", "kubepods")
        self.told(Host(plain, container="systemd-nspawn"), "container", "good", "systemd-nspawn")

    # ---- cores

    def test_cpus_that_may_be_used(self):
        self.told(Host(words=("taskset", "-c", "0")), "cpus", "good", "1 cpu may be used")

    def test_quotas_of_both_versions(self):
        self.told(Host({"/proc/self/cgroup": GROUPS_2, "/sys/fs/cgroup/job/cpu.max": "max 100000\n"}), "cpu quota", "good", "none")
        self.told(Host({"/proc/self/cgroup": GROUPS_2, "/sys/fs/cgroup/job/cpu.max": "50000 100000\n"}), "cpu quota", "limited",
                  "time of 0.5 of them", remedy="--cpus N")
        self.told(Host({"/proc/self/cgroup": GROUPS_1, "/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us": "25000\n",
                        "/sys/fs/cgroup/cpu/job/cpu.cfs_period_us": "100000\n"}), "cpu quota", "limited", "time of 0.25 of them",
                  remedy="resources.limits.cpu")

    def test_workers_of_a_process(self):
        run = launchers.run(DOCTOR, "--json", "+workers", "1")
        self.assertIn("+workers says so", {f["name"]: f["text"] for f in json.loads(run.out)["findings"]}["workers"])
        self.told(Host(words=("taskset", "-c", "0")), "workers", "good", "1 for other hosts, in a process of 1 PE")
        if len(os.sched_getaffinity(0)) > 1:
            two = Host(words=("taskset", "-c", ",".join(map(str, sorted(os.sched_getaffinity(0))[:2]))))
            self.told(two, "workers", "good", "2 for other hosts, in a process of 2 PEs of a run of up to 129 processes",
                      "1 from 130 on", "+workers N")

    # ---- sharing

    @unittest.skipUnless(platform.machine() == "x86_64", "numbers of system calls are of x86-64")
    def test_system_calls_that_are_forbidden(self):
        plain = Host()
        self.told(plain, "seccomp", "good", "no filter")
        self.told(plain, "shared memory", "good", "memfd works")
        self.told(plain, "CMA", "good", "can read its sibling's memory")
        no_cma = Host(before=lambda: forbid(PROCESS_VM_READV))
        self.told(no_cma, "seccomp", "good", "a filter of system calls is on")
        self.told(no_cma, "CMA", "limited", "Operation not permitted", "copied through it instead", remedy="--cap-add SYS_PTRACE")
        scope = Host({"/proc/sys/kernel/yama/ptrace_scope": "2\n"}, before=lambda: forbid(PROCESS_VM_READV))
        self.told(scope, "CMA", "limited", "kernel.yama.ptrace_scope=2", remedy="sysctl kernel.yama.ptrace_scope=0")
        self.told(Host(before=lambda: forbid(MEMFD_CREATE)), "shared memory", "broken", "memfd_create: Operation not permitted",
                  remedy="a seccomp profile that allows memfd_create")
        no_ring = Host({"/proc/sys/kernel/io_uring_disabled": "2\n"}, before=lambda: forbid(IO_URING_SETUP))
        self.told(no_ring, "io_uring", "absent", "Operation not permitted (kernel.io_uring_disabled=2)",
                  remedy="sysctl kernel.io_uring_disabled=0")

    def test_huge_pages(self):
        folder, all_of = "/sys/kernel/mm/hugepages/hugepages-2048kB/", "/sys/kernel/mm/transparent_hugepage/"
        if not os.path.exists(folder) or not os.path.exists(all_of):
            self.skipTest("this kernel has no huge pages whose files could be covered")
        self.told(Host({folder + "nr_hugepages": "0\n"}), "huge pages", "absent", "none are set aside", remedy="sysctl vm.nr_hugepages")
        self.told(Host({folder + "nr_hugepages": "512\n", folder + "free_hugepages": "500\n"}), "huge pages", "good",
                  "500 of 512 pages of 2 MiB")
        self.told(Host({all_of + "enabled": "always [madvise] never\n", all_of + "shmem_enabled": "always [advise] never\n"}),
                  "transparent", "good", "[madvise]", "[advise]")
        self.told(Host({all_of + "shmem_enabled": "always [never]\n"}), "transparent", "good", "[never]", remedy="echo advise >")

    # ---- transports

    def test_a_host_without_a_network(self):
        host = Host(spaces=("--net",))
        findings, status = host.look()
        self.assertEqual(status, 1)
        self.assertEqual(findings["tcp lo"]["state"], "limited", findings["tcp lo"])
        self.assertIn("ip link set lo up", findings["tcp lo"]["remedy"])
        self.assertEqual(findings["another host"]["state"], "broken")
        self.assertIn("ip link set lo up", findings["another host"]["remedy"])
        self.assertEqual(findings["same host"]["state"], "good")
        if shutil.which("ip"):
            self.told(Host(spaces=("--net",), script="ip link set lo up"), "tcp lo", "good", "127.0.0.1")

    # ---- launchers

    def test_launchers_in_the_path(self):
        with tempfile.TemporaryDirectory() as folder:
            here = os.path.join(folder, "srun")
            with open(here, "w", encoding="ascii") as file:
                file.write("#!/bin/sh\n")
            os.chmod(here, 0o755)
            path = f"PATH={folder}"
            host = Host(words=(shutil.which("env"), path))
            self.told(host, "srun", "good", here, "srun -n 8")
            self.told(host, "ssh", "absent", "not in PATH")

    def test_a_pmix_library_that_cannot_be_loaded(self):
        findings, _ = Host().look()
        if "libpmix" not in findings:
            self.skipTest("PMIx was not compiled in")
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "libpmix.so.2"), "w", encoding="ascii") as file:
                file.write("no library")
            self.told(Host(LD_LIBRARY_PATH=folder), "libpmix", "limited", "file too short", remedy="apt-get install libpmix2")
        self.assertIn(findings["libpmix"]["state"], ("good", "limited"))

    # ---- devices

    def gpus(self, fake, library):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        os.symlink(os.path.join(FAKE_GPUS, fake), os.path.join(folder, library))
        return folder

    def test_cuda(self):
        folder = self.gpus("libfake_cuda.so", "libcuda.so.1")

        def host(fakes, **more):
            return Host(LD_LIBRARY_PATH=folder, PERIAPT_FAKE_GPU=fakes, **more)
        self.told(host("gpus=2"), "CUDA 1", "good", "Fake GPU 1 at 0000:11:00.0, 1 TiB, driver for CUDA 13.0")
        self.told(host("gpus=2", CUDA_VISIBLE_DEVICES="1"), "CUDA 0", "good", "Fake GPU 1 ")
        self.told(host("gpus=2"), "CUDA 1 dma-buf", "good", "RDMA adapters whose drivers take it reach its memory")
        self.told(host("gpus=2"), "CUDA 1 by hand", "good", "other processes of this host map memory that was made with a file")
        self.told(host("gpus=2,files=0"), "CUDA 1 by hand", "limited",
                  "memory mapped by hand goes through the host to other processes: GPU 1: its driver gives no files")
        self.told(host("gpus=2,fabric=1"), "CUDA 1 fabric", "good", "its driver knows handles of memory mapped by hand for other hosts")
        self.told(host("gpus=2"), "CUDA 1 fabric", "absent", "GPU 1: its driver gives no fabric handles", remedy="IMEX")
        self.told(host("gpus=3"), "CUDA 1 peers", "good", "it reads and writes the memory of CUDA 0, 2 over NVLink")
        self.told(host("gpus=2,peers=2"), "CUDA 0 peers", "good", "it reads and writes the memory of CUDA 1 over PCIe")
        self.told(host("gpus=2,peers=0"), "CUDA 0 peers", "limited",
                  "copies go through the host: GPU 0 cannot read the memory of GPU 1 directly: the bus")
        self.assertNotIn("CUDA 0 peers", host("gpus=1").look()[0])
        self.told(host("gpus=2"), "CUDA 1 IPC", "good", "it gives handles, by which other processes of this host may map its memory")
        self.told(host("gpus=2,memory=1000000"), "CUDA 1 IPC", "limited",
                  "whether other processes of this host map its memory was not tried: cuMemAlloc", remedy="2 MB left")
        self.told(host("gpus=2,ipc=0"), "CUDA 1 IPC", "limited", "its bytes go through the host: cuIpcGetMemHandle on GPU 1: operation not",
                  remedy="--ipc host")
        self.told(host("gpus=2,dma-buf=0"), "CUDA 1 dma-buf", "limited", "do not reach its memory: GPU 1: its driver has no dma-buf",
                  remedy="open kernel modules")
        self.told(host("gpus=0"), "CUDA", "limited", "not used: there is a driver, and no GPU for this process")
        self.told(host("init=100"), "CUDA", "limited", "cuInit: no CUDA-capable device is detected", remedy="nvidia-smi")
        self.told(host("version=10020"), "CUDA", "limited", "is a driver for CUDA 10.2, and 11.4 is the oldest", remedy="update the driver")
        compiler = os.path.join(FAKE_GPUS, "libfake_cuda.so")
        self.told(host("gpus=2", PERIAPT_LIBNVRTC=compiler), "CUDA 1 reductions", "good", "of its memory are combined there")
        self.told(host("gpus=2", PERIAPT_LIBNVRTC=compiler), "CUDA 1 layouts", "good", "of its memory are packed by a kernel")
        self.told(host("gpus=1,image=209,compile=6", PERIAPT_LIBNVRTC=compiler), "CUDA 0 layouts", "limited", "copied row by row: ")
        self.told(host("gpus=1,image=209,compile=6", PERIAPT_LIBNVRTC=compiler), "CUDA 0 reductions", "limited", "combined by the host: ")
        if "CUDA" in Host().look()[0]:  # there is no driver here
            if not os.path.exists("/proc/driver/nvidia/version"):
                self.told(Host(), "CUDA", "absent", "not used: no driver")
            self.told(Host({"/proc/driver/nvidia/version": "1\n"}), "CUDA", "limited", "the kernel has the driver, but", remedy="--gpus all")

    def test_hip(self):
        folder, device = self.gpus("libfake_hip.so", "libamdhip64.so"), {"/dev/kfd": ""}

        def host(fakes):
            return Host(device, LD_LIBRARY_PATH=folder, PERIAPT_FAKE_GPU=fakes)
        self.told(host("gpus=3"), "HIP 2", "good", "Fake GPU 2 at ")
        self.told(host("gpus=2"), "HIP 0 peers", "good", "it reads and writes the memory of HIP 1 over xGMI")
        self.told(host("gpus=2,ipc=0"), "HIP 0 IPC", "limited", "its bytes go through the host: hipIpcGetMemHandle on GPU 0: ")
        self.told(host("gpus=0"), "HIP", "limited", "no GPU for this process")
        self.told(host("init=1"), "HIP", "limited", "hipInit: an error", remedy="usermod -aG video,render")
        if "hipInit" not in Host(device).look()[0]["HIP"]["text"]:  # there is no ROCm here
            self.told(Host(device), "HIP", "limited", "the kernel has the driver, but its library can't be loaded", remedy="install ROCm's runtime")
        if not os.path.exists("/dev/kfd"):
            self.told(Host(LD_LIBRARY_PATH=folder), "HIP", "absent", "not used: no driver (/dev/kfd)")

    def test_rdma(self):
        port = "/sys/class/infiniband/mlx5_0/ports/1/"

        def files(state, *more):
            return {port + "state": state, port + "link_layer": "InfiniBand\n", port + "rate": "200 Gb/sec\n", **dict.fromkeys(more, "")}
        uverbs = "/dev/infiniband/uverbs0"
        whole = Host(files("4: ACTIVE\n", uverbs))
        self.told(whole, "mlx5_0:1", "good", "InfiniBand, 200 Gb/sec, 4: ACTIVE")
        self.assertNotIn("/dev/infiniband", whole.look()[0])
        self.told(Host(files("1: DOWN\n", uverbs)), "mlx5_0:1", "limited", "1: DOWN", remedy="ip link set")
        if not os.path.exists("/dev/infiniband"):
            self.told(Host(files("4: ACTIVE\n")), "/dev/infiniband", "limited", "no files to use them", remedy="modprobe ib_uverbs")
        nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
        if subprocess.run([*nobody, "test", "-x", DOCTOR], check=False).returncode == 0:
            self.told(Host(files("4: ACTIVE\n", uverbs), script=f"chmod 600 {uverbs}", words=nobody), "/dev/infiniband", "limited",
                      "uverbs0 (Permission denied)", remedy="chmod 666")
        self.told(Host({"/sys/class/net/none": ""}), "RDMA", "absent", "lists no device")


if __name__ == "__main__":
    if os.geteuid() != 0 or subprocess.run(["unshare", "--mount", "true"], check=False).returncode != 0:
        launchers.skip("mount name spaces are made by root only")
    unittest.main(verbosity=2)
