#!/usr/bin/env python3
"""The PMI clients against servers that this test plays: sound ones, odd ones and broken ones. Needs no launcher."""
import os
import re
import socket
import subprocess
import sys
import threading
import unittest

import launchers

PROGRAM = sys.argv.pop(1) + "/world_prog"


class Server:
    """One process's end of a PMI connection; answers line by line with what `script` makes of a line. None: closes."""

    def __init__(self, script):
        self.script, self.said = script, []
        ours, self.theirs = socket.socketpair()
        self.file = ours.makefile("rwb", buffering=0)
        ours.close()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while line := self.file.readline():
            self.said.append(line.decode(errors="replace").strip())
            answer = self.script(self.said[-1])
            if answer is None:
                break
            self.file.write(answer if isinstance(answer, bytes) else answer.encode())
        self.file.close()

    def run(self, *arguments, **variables):
        environment = launchers.environment(PMI_FD=self.theirs.fileno(), PMI_RANK=0, PMI_SIZE=variables.pop("size", 1), **variables)
        done = subprocess.run([PROGRAM, *arguments], pass_fds=[self.theirs.fileno()], env=environment, capture_output=True,
                              text=True, timeout=launchers.PATIENCE, check=False)
        self.theirs.close()
        return launchers.Outcome(done.returncode, done.stdout, done.stderr, 0)


class Pmi2Server(Server):
    """Refuses PMI-1, then speaks PMI-2 for a run of one."""

    ANSWERS = {"fullinit": "rank=0;size=1;rc=0;", "job-getid": "jobid=j;rc=0;", "info-getjobattr": "found=FALSE;rc=0;"}

    def serve(self):
        for version, rc in ((1, -1), (2, 0)):
            assert f"pmi_version={version}" in self.file.readline().decode()
            self.file.write(f"cmd=response_to_init pmi_version=2 pmi_subversion=0 rc={rc}\n".encode())
        values = {}
        while head := self.file.read(6):
            fields = dict(item.split("=", 1) for item in self.file.read(int(head)).decode().split(";") if item)
            command, key = fields["cmd"], fields.get("key")
            if command == "kvs-put":
                values[key] = fields["value"]
            found = f"found={'TRUE' if key in values else 'FALSE'};value={values.get(key, '')};rc=0;"
            body = f"cmd={command}-response;" + (found if command == "kvs-get" else self.ANSWERS.get(command, "rc=0;"))
            self.file.write(f"{len(body):6d}{body}".encode())
        self.file.close()


def sound(line, values={}):  # the default is meant: what is put stays for the server's life
    """PMI-1 for a run of one."""
    fields = dict(word.split("=", 1) for word in line.split())
    command = fields["cmd"]
    if command == "put":
        values[fields["key"]] = fields["value"]
        return "cmd=put_result rc=0\n"
    if command == "get":
        there = fields["key"] in values
        return f"cmd=get_result rc={0 if there else -1} value={values.get(fields['key'], 'x')}\n"
    return {"init": "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n",
            "get_maxes": "cmd=maxes kvsname_max=64 keylen_max=64 vallen_max=128\n",
            "get_my_kvsname": "cmd=my_kvsname kvsname=k1\n",
            "barrier_in": "cmd=barrier_out rc=0\n",
            "finalize": "cmd=finalize_ack rc=0\n"}.get(command)  # abort: closes


def but(**changes):
    """A sound server that answers some commands otherwise."""
    return lambda line: changes.get(re.match(r"cmd=(\w+)", line)[1], sound(line)) if line.startswith("cmd=") else sound(line)


class Pmi(unittest.TestCase):
    def test_a_sound_server_with_short_values(self):
        server = Server(sound)
        run = server.run("--value", "3000")
        self.assertEqual((run.code, run.lines), (0, ["ok 0 of 1 on host 0"]), run)
        self.assertTrue(all(len(line) < 1024 for line in server.said))
        self.assertLess(max(len(re.search(r"value=(.*)", line)[1]) for line in server.said if line.startswith("cmd=put")), 128)

    def failed(self, script, *sentences, size=1):
        run = Server(script).run(size=size)
        self.assertEqual(run.code, 4, run)
        for sentence in sentences:
            self.assertIn(sentence, run.err)
        self.assertEqual(run.out, "")

    def test_a_server_that_closes(self):
        self.failed(lambda line: None, "the launcher closed its connection to this process")
        self.failed(but(get_maxes=None), "the launcher closed its connection to this process")

    def test_a_server_that_speaks_something_else(self):
        self.failed(but(init="SSH-2.0-OpenSSH_9.2\n"), 'answered "SSH-2.0-OpenSSH_9.2" to the first line of PMI-1')
        self.failed(but(init=b"\x00\xff\x1b[2J\n"), 'answered "???[2J" to the first line of PMI-1')
        self.failed(but(get_maxes="cmd=put_result rc=0\n"), "to get_maxes instead of maxes")
        self.failed(but(init=b"x" * (1 << 21)), "a line without end")

    def test_a_server_that_refuses(self):
        self.failed(but(init="cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1\n"), "refused PMI-")
        self.failed(but(get_my_kvsname="cmd=my_kvsname rc=-1\n"), "the launcher refused get_my_kvsname")

    def test_ranks_that_make_no_sense(self):
        for size in (0, -1, 1 << 30, "many"):
            self.failed(sound, "which makes no sense", size=size)

    def test_a_mapping_that_is_not_understood_is_no_failure(self):
        def script(line):
            return "cmd=get_result rc=0 value=(matrix,(0,1,1))\n" if "PMI_process_mapping" in line else sound(line)
        self.assertEqual(Server(script).run().code, 0)

    def test_a_value_that_comes_back_damaged(self):
        def script(line):
            return "cmd=get_result rc=0 value=7,!\n" if "key=0-came" in line and "get" in line else sound(line)
        run = Server(script).run()
        self.assertEqual(run.code, 3, run)
        self.assertIn("came back damaged", run.err)

    def test_a_server_that_speaks_pmi_2_only(self):
        run = Pmi2Server(None).run(WORLD_VERBOSE=1)
        self.assertEqual((run.code, run.lines), (0, ["ok 0 of 1 on host 0"]), run)
        self.assertIn("found: PMI-2", run.err)

    def test_a_silent_server_is_named_by_the_watchdog(self):
        def slow(line):
            if line.startswith("cmd=init"):
                threading.Event().wait(2.5)
            return sound(line)
        run = Server(slow).run(PERIAPT_STARTUP_WATCHDOG=1)
        self.assertEqual(run.code, 0, run)
        self.assertIn("the launcher has not answered for 1 s (looking for pmi1)", run.err)

    def test_a_server_that_never_answers_is_given_up(self):
        def silent_at(command):
            def script(line):
                if line.startswith(f"cmd={command}"):
                    threading.Event().wait()
                return sound(line)
            return script
        given_up = "the launcher has not answered for 1 s (PERIAPT_STARTUP_TIMEOUT)"
        run = Server(silent_at("get_maxes")).run(PERIAPT_STARTUP_TIMEOUT=1)
        self.assertEqual(run.code, 4, run)
        self.assertIn(given_up, run.err)
        run = Server(silent_at("barrier_in")).run(size=2, PERIAPT_STARTUP_TIMEOUT=1)
        self.assertEqual(run.code, 4, run)
        self.assertIn(f"at fence 1 of start-up for process 1 (as far as can be seen from this host): {given_up}", run.err)


if __name__ == "__main__":
    unittest.main(verbosity=2)
