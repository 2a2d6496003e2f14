"""What a program could try: plain Python, run in a child by the job
`raw` of jobs.py, with the limits and walls of every program.

Each attack is a row: its name, its code, and how it may end. Names in the code: `canary`, a path of
a file it may not touch; `app`, `server`, `zygote`, `other`, process ids; `call`, a system call by
name, which raises OSError; and the modules ctypes, os, signal, struct, sys, time and libc.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass

from explorer.sandbox.system_calls import GROUPS, HOSTILE, REFUSED, UNKNOWN, numbers

#: Further calls: name, number on x86_64, number on aarch64.
_MORE = """
preadv 295 69, getpriority 140 141, copy_file_range 326 285, splice 275 76, sendfile 40 71,
name_to_handle_at 303 264, kcmp 312 272, get_robust_list 274 100, move_pages 279 239,
migrate_pages 256 238, process_mrelease 448 448, modify_ldt 154 -, pipe2 293 59, dup 32 23,
eventfd2 290 19, epoll_create1 291 20, signalfd4 289 74, setsockopt 54 208, getsockopt 55 209,
shutdown 48 210, recvmsg 47 212, sched_getparam 143 121, mlockall 151 230, getxattr 191 8,
set_mempolicy 238 237, mbind 237 235, landlock_create_ruleset 444 444, seccomp 317 277,
sync 162 81, fsync 74 82, statfs 137 43, getgroups 115 158, vhangup 153 58, membarrier 324 283,
listxattr 194 11, lookup_dcookie 212 18, remap_file_pages 216 234
"""


def call_numbers() -> dict[str, int]:
    """Every call an attack may name, on this machine."""
    tables = [*(group.calls for group in GROUPS), HOSTILE, REFUSED, UNKNOWN, _MORE]
    return {
        name: number
        for table in tables
        for name, number in numbers(table, platform.machine()).items()
    }


#: How an attack may end: by a refusal of seccomp or Landlock, or with the death of its child.
EPERM, ENOSYS, EACCES, KILLED = "EPERM", "ENOSYS", "EACCES", "killed"
REFUSED_SOMEHOW = {EPERM, ENOSYS, EACCES}


@dataclass(frozen=True)
class Attack:
    name: str
    code: str
    ends: frozenset[str]


def _rows(ends: str | set[str], **codes: str) -> list[Attack]:
    allowed = frozenset({ends} if isinstance(ends, str) else ends)
    return [Attack(name, code, allowed) for name, code in codes.items()]


#: A descriptor of a file that the child may read: a module of the library.
_CODE = "fd = os.open(os.__file__, os.O_RDONLY); "
FILES = _rows(
    EPERM,
    open_a_nameless_file="os.open(os.path.dirname(canary), os.O_TMPFILE | os.O_RDWR)",
    make_a_link="os.link(canary, canary + '2')",
    make_a_symbolic_link="os.symlink('/', canary + '2')",
    make_a_device="os.mknod(canary + '2', 0o020666, os.makedev(1, 3))",
    make_a_fifo="os.mkfifo(canary + '2')",
    make_a_socket_file="os.mknod(canary + '2', 0o140666)",
    allocate=_CODE + "call('fallocate', fd, 0, 0, 1)",
    chmod="os.chmod(canary, 0o777)",
    chmod_code=_CODE + "os.fchmod(fd, 0o777)",
    fchmodat="call('fchmodat', -100, canary, 0o777)",
    chown="os.chown(canary, 1, 1)",
    chown_code=_CODE + "os.fchown(fd, 1, 1)",
    fchownat="call('fchownat', -100, canary, 1, 1, 0)",
    utime="os.utime(canary, (5, 5))",
    utime_of_code=_CODE + "os.utime(fd, (5, 5))",
    utimensat="call('utimensat', -100, canary, 0, 0)",
    setxattr="os.setxattr(canary, 'user.attack', b'1')",
    setxattr_of_code=_CODE + "os.setxattr(fd, 'user.attack', b'1')",
    removexattr="os.removexattr(canary, 'user.attack')",
    lock_code=_CODE + "call('flock', fd, 6)",
    lock_a_part_of_code=_CODE + "__import__('fcntl').lockf(fd, 5)",
    lease=_CODE + "__import__('fcntl').fcntl(fd, 1024, 0)",
    notify_of_a_folder="fd = os.open(os.path.dirname(os.__file__), 0)\n"
    "__import__('fcntl').fcntl(fd, 1026, 2)",
    watch="call('inotify_init1', 0)",
    watch_with_a_descriptor="call('inotify_add_watch', 3, canary, 0xFFF)",
    watch_everything="call('fanotify_init', 0, 0)",
    file_in_memory="os.memfd_create('x')",
    copy_between_files=_CODE + "call('copy_file_range', fd, 0, 1, 0, 1, 0)",
    splice="call('splice', 0, 0, 1, 0, 1, 0)",
    handle_of_a_file="call('name_to_handle_at', -100, canary, b'\\x08' + bytes(200), bytes(8), 0)",
    flush_disks="call('sync')",
)
if platform.machine() == "x86_64":
    FILES += _rows(
        EPERM,
        old_chmod="call('chmod', canary, 0o777)",
        old_utime="call('utime', canary, 0)",
        old_utimes="call('utimes', canary, 0)",
        futimesat="call('futimesat', -100, canary, 0)",
        old_inotify="call('inotify_init')",
    )
FILES += _rows(
    ENOSYS,
    fchmodat2="call('fchmodat2', -100, canary, 0o777, 0)",
    fchmodat2_of_code=_CODE + "call('fchmodat2', fd, b'', 0o777, 0x1000)",
    setxattrat="call('setxattrat', -100, canary, 0, b'user.a', bytes(16), 16)",
    openat2="call('openat2', -100, canary, struct.pack('=QQQ', 2, 0, 0), 24)",
)
FILES += _rows(
    KILLED,
    open_by_handle="call('open_by_handle_at', 3, bytes(200), 0)",
)
FILES += _rows(
    EACCES,
    read_a_file="open(canary).read()",
    read_passwords="open('/etc/passwd').read()",
    read_the_project="open(project + '/pyproject.toml').read()",
    read_beside_the_code="d = os.open(os.path.dirname(os.__file__), 0)\n"
    "os.open('../../../../../../../../etc/passwd', 0, dir_fd=d)",
    read_its_own_environment="open('/proc/self/environ').read()",
    read_its_own_memory_file="open('/proc/self/mem', 'rb')",
    read_its_own_map="open('/proc/self/maps')",
    read_the_machine="open('/proc/cpuinfo')",
    read_through_its_root="open('/proc/self/root/etc/passwd')",
    read_through_a_path_descriptor="fd = os.open(canary, os.O_PATH); open(f'/proc/self/fd/{fd}')",
    open_its_null_device_again="os.open('/proc/self/fd/0', 0)",
    list_the_root="os.listdir('/')",
    list_processes="os.listdir('/proc')",
    list_devices="os.listdir('/dev')",
    list_shared_memory="os.listdir('/dev/shm')",
    map_code_for_writing=_CODE + "__import__('mmap').mmap(fd, 4096)",
    kernel_log_device="os.open('/dev/kmsg', os.O_RDONLY)",
    random_device="os.open('/dev/urandom', os.O_RDONLY)",
    terminal="os.open('/dev/tty', os.O_RDONLY)",
    zero_device="os.open('/dev/zero', os.O_RDONLY)",
)

_FAMILIES = {
    "unix": 1, "ipv4": 2, "ipv6": 10, "netlink": 16, "packet": 17, "bluetooth": 31, "crypto": 38,
    "vsock": 40, "xdp": 44,
}  # fmt: skip
SOCKETS = _rows(
    EPERM,
    socket_pair_of_the_network="call('socketpair', 2, 1, 0, bytes(8))",
    **{
        f"socket_{name}": f"call('socket', {number}, {3 if name == 'packet' else 1}, 0)"
        for name, number in _FAMILIES.items()
    },
    socket_of_any_family="for family in range(64):\n"
    "    for kind in (1, 2, 3, 5):\n"
    "        try: call('socket', family, kind, 0)\n"
    "        except OSError as error:\n"
    "            if error.errno != 1: raise\n"
    "raise PermissionError(1, '')",
    connect_the_channel="call('connect', channel, struct.pack('=H108s', 1, b'x'), 110)",
    bind_the_channel="call('bind', channel, struct.pack('=H108s', 1, b'x'), 110)",
    listen_on_the_channel="call('listen', channel, 1)",
    accept_from_the_channel="call('accept4', channel, 0, 0, 0)",
    send_to_an_address="call('sendto', channel, b'x', 1, 0, struct.pack('=H108s', 1, b'x'), 110)",
    send_descriptors="call('sendmsg', channel, bytes(56), 0)",
    receive_descriptors="call('recvmsg', channel, bytes(56), 0)",
    option_of_the_channel="call('setsockopt', channel, 1, 7, struct.pack('=i', 4096), 4)",
    who_is_there="call('getsockopt', channel, 1, 17, bytes(12), struct.pack('=i', 12))",
    pipe="os.pipe()",
    event="call('eventfd2', 0, 0)",
)

PROCESSES = _rows(
    EPERM,
    fork="os.fork()",
    spawn="os.posix_spawn('/bin/true', ['true'], {})",
    subprocess="__import__('subprocess').run(['/bin/true'])",
    system="if libc.system(b'true') != 0: raise PermissionError(1, '')",
    popen="os.popen('true').read()",
    multiprocessing="__import__('multiprocessing').get_context('fork').Process(target=int).start()",
    clone_a_process="call('clone', 17, 0, 0, 0, 0)",
    clone_with_shared_memory="call('clone', 0x100 | 17, 0, 0, 0, 0)",
    clone_a_vfork="call('clone', 0x4100 | 17, 0, 0, 0, 0)",
    clone_a_sibling="call('clone', 0x8000 | 17, 0, 0, 0, 0)",
    clone_a_namespace="call('clone', 0x10000000 | 17, 0, 0, 0, 0)",
    clone_a_thread_with_more="call('clone', 0x3D0F00 | 0x20000000, 0, 0, 0, 0)",
    new_session="os.setsid()",
    new_group="os.setpgid(0, 0)",
)
PROCESSES += _rows(
    ENOSYS, clone3="call('clone3', struct.pack('=11Q', 0, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0), 88)"
)
PROCESSES += _rows(
    KILLED,
    execute="os.execv('/bin/true', ['true'])",
    execute_a_descriptor=_CODE + "call('execveat', fd, b'', 0, 0, 0x1000)",
    unshare_user="call('unshare', 0x10000000)",
    unshare_files="call('unshare', 0x20000)",
    enter_a_namespace="call('setns', 3, 0)",
)

SIGNALS = _rows(
    EPERM,
    kill_the_app="os.kill(app, 9)",
    kill_the_server="os.kill(server, 9)",
    kill_the_zygote="os.kill(zygote, 9)",
    kill_another="os.kill(other, 9)",
    stop_another="os.kill(other, signal.SIGSTOP)",
    ask_for_another="os.kill(other, 0)",
    kill_everybody="os.kill(-1, 9)",
    kill_its_group="os.kill(0, 9)",
    kill_a_group="os.killpg(other, 9)",
    kill_the_first_process="os.kill(1, 9)",
    kill_a_thread="call('tkill', other, 9)",
    kill_a_thread_of_a_group="call('tgkill', other, other, 9)",
    queue_a_signal="call('rt_sigqueueinfo', other, 9, bytes(128))",
    queue_a_signal_for_a_thread="call('rt_tgsigqueueinfo', other, other, 9, bytes(128))",
    queue_a_signal_for_itself="call('rt_sigqueueinfo', os.getpid(), 10, bytes(128))",
    signal_for_input="__import__('fcntl').fcntl(channel, 8, other)",
    choose_the_signal_for_input="__import__('fcntl').fcntl(channel, 10, 9)",
    signals_from_a_descriptor="call('signalfd4', -1, bytes(8), 8, 0)",
    outlive_its_parent="call('prctl', 1, 0)",
    adopt_orphans="call('prctl', 36, 1)",
    become_dumpable="call('prctl', 4, 1)",
    let_anybody_trace_it="call('prctl', 0x59616D61, -1)",
)
SIGNALS += _rows(
    {EPERM, ENOSYS},
    descriptor_of_a_process="os.pidfd_open(other)",
    signal_through_a_descriptor="call('pidfd_send_signal', 3, 9, 0, 0)",
)

OTHERS = _rows(
    KILLED,
    read_anothers_memory="call('process_vm_readv', other, bytes(16), 1, bytes(16), 1, 0)",
    write_anothers_memory="call('process_vm_writev', other, bytes(16), 1, bytes(16), 1, 0)",
    trace_another="call('ptrace', 16, other, 0, 0)",
    seize_another="call('ptrace', 0x4206, server, 0, 0)",
    be_traced="call('ptrace', 0, 0, 0, 0)",
    descriptor_of_another="call('pidfd_getfd', 3, 0, 0)",
    advise_anothers_memory="call('process_madvise', 3, bytes(16), 1, 21, 0)",
    key="call('add_key', b'user', b'name', b'1', 1, -3)",
    ask_for_a_key="call('request_key', b'user', b'name', 0, 0)",
    session_keys="call('keyctl', 0, -3, 0)",
)
OTHERS += _rows(
    EACCES,
    memory_file_of_the_app="open(f'/proc/{app}/mem', 'rb')",
    memory_file_of_the_server="open(f'/proc/{server}/mem', 'rb')",
    memory_file_of_the_zygote="open(f'/proc/{zygote}/mem', 'rb')",
    memory_file_of_another="open(f'/proc/{other}/mem', 'rb')",
    map_of_another="open(f'/proc/{other}/maps')",
    environment_of_the_app="open(f'/proc/{app}/environ').read()",
    command_of_another="open(f'/proc/{other}/cmdline').read()",
    descriptors_of_the_server="os.listdir(f'/proc/{server}/fd')",
    work_folder_of_the_app="os.listdir(f'/proc/{app}/cwd')",
    root_of_the_server="os.listdir(f'/proc/{server}/root')",
    folder_of_the_server="os.readlink(f'/proc/{server}/cwd')",
    interpreter_of_the_zygote="os.readlink(f'/proc/{zygote}/exe')",
    descriptor_of_the_app="os.readlink(f'/proc/{app}/fd/0')",
    file_of_the_app="open(f'/proc/{app}/fd/0')",
    file_through_the_root_of_another="open(f'/proc/{other}/root{canary}')",
    threads_of_the_zygote="os.listdir(f'/proc/{zygote}/task')",
)
OTHERS += _rows(
    EPERM,
    shared_memory="call('shmget', 1, 4096, 0o1666)",
    attach_shared_memory="call('shmat', 0, 0, 0)",
    ask_for_shared_memory="call('shmctl', 0, 14, bytes(128))",
    semaphores="call('semget', 1, 1, 0o1666)",
    ask_for_semaphores="call('semctl', 0, 0, 19, bytes(128))",
    message_queue="call('msgget', 1, 0o1666)",
    ask_for_message_queues="call('msgctl', 0, 12, bytes(128))",
    send_to_a_queue="call('msgsnd', 0, bytes(16), 8, 0)",
    posix_message_queue="call('mq_open', b'attack', 0o102, 0o666, 0)",
    compare_with_another="call('kcmp', os.getpid(), other, 1, 0, 0)",
    locks_of_another="call('get_robust_list', other, bytes(8), bytes(8))",
    move_anothers_pages="call('move_pages', other, 0, 0, 0, 0, 0)",
    migrate_anothers_pages="call('migrate_pages', other, 64, bytes(8), bytes(8))",
    limits_of_another="__import__('resource').prlimit(other, 0, (1, 1))",
    priority_of_another="os.setpriority(os.PRIO_PROCESS, other, 19)",
    ask_for_anothers_priority="os.getpriority(os.PRIO_PROCESS, other)",
    processors_of_another="os.sched_setaffinity(other, [0])",
    scheduler_of_another="call('sched_setscheduler', other, 0, bytes(4))",
    attributes_of_another="call('sched_setattr', other, bytes(48), 0)",
    disk_priority_of_another="call('ioprio_set', 1, other, 7)",
    terminal_input="call('ioctl', 0, 0x5412, b'x')",
    console_input="call('ioctl', 0, 0x541C, b'\\x03')",
    hang_up="call('vhangup')",
)
OTHERS += _rows(ENOSYS, release_anothers_memory="call('process_mrelease', 3, 0)")

LIMITS = _rows(
    EPERM,
    more_memory="call('prlimit64', 0, 9, b'\\xff' * 16, 0)",
    less_memory="call('prlimit64', 0, 9, struct.pack('=QQ', 2**30, 2**30), 0)",
    more_memory_by_the_old_call="call('setrlimit', 9, b'\\xff' * 16)",
    larger_files="call('prlimit64', 0, 1, bytes(16), 0)",
    more_time="call('prlimit64', 0, 0, b'\\xff' * 16, 0)",
    core_dumps="call('prlimit64', 0, 4, bytes(16), 0)",
    ignore_the_alarm="signal.signal(signal.SIGALRM, signal.SIG_IGN)",
    handle_the_alarm="signal.signal(signal.SIGALRM, lambda *a: None)",
    ignore_the_processor_limit="signal.signal(signal.SIGXCPU, signal.SIG_IGN)",
    timer_off="signal.setitimer(signal.ITIMER_REAL, 0)",
    another_timer="call('timer_create', 0, 0, bytes(8))",
    timer_in_a_descriptor="call('timerfd_create', 0, 0)",
    higher_priority="os.setpriority(os.PRIO_PROCESS, 0, -20)",
    lower_priority="os.nice(1)",
    real_time="os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))",
    its_processors="os.sched_setaffinity(0, [0])",
    disk_priority="call('ioprio_set', 1, 0, 0)",
    lock_memory="call('mlockall', 3)",
    place_memory="call('set_mempolicy', 0, 0, 0)",
    spoil_memory="call('madvise', id(0) & ~4095, 4096, 100)",
    keep_capabilities="call('prctl', 8, 1)",
    raise_a_capability="call('prctl', 47, 2, 1)",
    capabilities="call('capset', struct.pack('=Ii', 0x20080522, 0), b'\\xff' * 24)",
    another_filter="call('seccomp', 1, 0, bytes(16))",
    another_filter_by_prctl="call('prctl', 22, 2, bytes(16))",
    user="os.setuid(0)",
    real_and_effective_user="os.setreuid(0, 0)",
    all_three_users="os.setresuid(0, 0, 0)",
    file_user="call('setfsuid', 0)",
    group="os.setgid(0)",
    groups="os.setgroups([0])",
    personality="call('personality', 0x0040000)",
    mask="call('umask', 0)",
)
if platform.machine() == "x86_64":
    LIMITS += _rows(
        EPERM,
        alarm_off="call('alarm', 0)",
        local_descriptors="call('modify_ldt', 1, bytes(16), 16)",
    )

KERNEL = _rows(
    KILLED,
    mount="call('mount', b'none', b'/', b'tmpfs', 0, 0)",
    unmount="call('umount2', b'/', 2)",
    pivot="call('pivot_root', b'/', b'/')",
    change_root="os.chroot('/')",
    open_file_system="call('fsopen', b'tmpfs', 0)",
    mount_file_system="call('fsmount', 3, 0, 0)",
    clone_a_mount="call('open_tree', -100, b'/', 1)",
    move_a_mount="call('move_mount', 3, b'', -100, b'/', 4)",
    change_a_mount="call('mount_setattr', -100, b'/', 0, bytes(32), 32)",
    load_a_module="call('init_module', bytes(8), 8, b'')",
    load_a_module_file="call('finit_module', 3, b'', 0)",
    unload_a_module="call('delete_module', b'none', 0)",
    load_a_kernel="call('kexec_load', 0, 0, 0, 0)",
    load_a_kernel_file="call('kexec_file_load', 0, 0, 0, 0, 0)",
    reboot="call('reboot', 1, 2, 3, 0)",
    program_in_the_kernel="call('bpf', 0, bytes(64), 64)",
    page_faults="call('userfaultfd', 1)",
    ring="call('io_uring_setup', 8, bytes(120))",
    swap="call('swapon', canary, 0)",
    accounting="call('acct', canary)",
    quota="call('quotactl', 0, 0, 0, 0)",
)
KERNEL += _rows(
    EPERM,
    counters="call('perf_event_open', bytes(128), 0, -1, -1, 0)",
    counters_of_another="call('perf_event_open', bytes(128), other, -1, -1, 0)",
    kernel_log="call('syslog', 3, bytes(64), 64)",
    name_of_the_machine="call('sethostname', b'x', 1)",
    time_of_the_machine="call('settimeofday', bytes(16), 0)",
    clock_of_the_machine="call('clock_settime', 0, bytes(16))",
    speed_of_the_clock="call('adjtimex', struct.pack('=I', 1) + bytes(300))",
)
KERNEL += _rows(ENOSYS, secret_memory="call('memfd_secret', 0)")
if platform.machine() == "x86_64":
    KERNEL += _rows(
        KILLED,
        ports="call('iopl', 3)",
        port="call('ioperm', 0, 8, 1)",
        second_set_of_numbers="libc.syscall(0x40000000 + 39)",
        second_set_of_numbers_to_open="libc.syscall(0x40000000 + 2, canary.encode(), 1)",
        numbers_of_32_bits=(
            "import mmap\n"
            "page = mmap.mmap(-1, 4096, prot=7)\n"
            "page.write(b'\\xb8\\x14\\0\\0\\0\\xcd\\x80\\xc3')  # mov eax, 20; int 0x80; ret\n"
            "start = ctypes.addressof(ctypes.c_char.from_buffer(page))\n"
            "ctypes.CFUNCTYPE(ctypes.c_int)(start)()"
        ),
    )

#: Where a program may write, Landlock keeps it in its folder; elsewhere seccomp refuses it.
WRITES = _rows(
    {EPERM, EACCES, "ENOENT", "EINVAL"},
    create="open(canary + '2', 'x')",
    open_for_writing="open(canary, 'w')",
    open_for_updating="open(canary, 'r+')",
    open_for_appending="open(canary, 'a')",
    open_to_truncate="os.open(canary, os.O_RDONLY | os.O_TRUNC)",
    open_in_a_folder="os.open('canary', os.O_WRONLY, dir_fd=-100)",
    make_a_folder="os.mkdir(canary + '2')",
    rename="os.rename(canary, canary + '2')",
    exchange="call('renameat2', -100, canary, -100, canary + '2', 2)",
    unlink="os.unlink(canary)",
    remove_a_folder="os.rmdir(os.path.dirname(canary))",
    truncate="os.truncate(canary, 0)",
    truncate_code=_CODE + "os.ftruncate(fd, 0)",
    device_for_writing="os.open('/dev/null', os.O_WRONLY)",
    write_to_anothers_memory_file="open(f'/proc/{other}/mem', 'r+b')",
    posix_shared_memory="os.open('/dev/shm/attack', os.O_CREAT | os.O_RDWR)",
)
if platform.machine() == "x86_64":
    WRITES += _rows(
        {EPERM, EACCES},
        creat="call('creat', canary + '2', 0o666)",
        old_rename="call('rename', canary, canary + '2')",
        old_mkdir="call('mkdir', canary + '2', 0o777)",
        old_open_for_writing="call('open', canary, 1)",
    )

ATTACKS = [*FILES, *WRITES, *SOCKETS, *PROCESSES, *SIGNALS, *OTHERS, *LIMITS, *KERNEL]

_BUSY = "\nwhile True: pass"
#: These go on until they are stopped.
ENDLESS = {
    "a loop": _BUSY,
    "sleep": "time.sleep(1000)",
    "the alarm blocked": "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64))" + _BUSY,
    "the alarm switched off": "libc.alarm(0)" + _BUSY,
    "a timer of zero": "libc.setitimer(0, bytes(32), None)" + _BUSY,
    "the alarm ignored": "libc.signal(14, ctypes.c_void_p(1))" + _BUSY,
    "every signal ignored": "for n in range(1, 65): libc.signal(n, ctypes.c_void_p(1))" + _BUSY,
    "a loop in C": "libc.qsort(bytes(2**24), 2**24, 1,"
    " ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 2)(lambda a, b: time.sleep(1) or 0))",
    "a loop in a thread": "import threading\n"
    "threading.Thread(target=exec, args=('while True: pass',)).start()\n"
    "time.sleep(1000)",
    "stopped": "os.kill(os.getpid(), signal.SIGSTOP)" + _BUSY,
}
