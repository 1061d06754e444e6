#!/usr/bin/env python3
"""periapt-doctor: what it says of this host is well formed, and limits that are too low are found with their remedy."""
import json
import os
import shutil
import sys
import tempfile
import unittest

import launchers

sys.argv.pop(1)
DOCTOR = os.path.join(os.environ["PERIAPT_BIN"], "periapt-doctor")


def findings(run):
    return json.loads(run.out)["findings"]


class Doctor(unittest.TestCase):
    def test_every_finding_is_whole(self):
        run = launchers.run(DOCTOR, "--json")
        found = findings(run)
        self.assertEqual({f["area"] for f in found}, {"build", "run", "transports", "chosen", "launchers", "cores", "limits", "sharing", "devices"})
        for finding in found:
            self.assertIn(finding["state"], ("good", "absent", "limited", "broken"), finding)
            self.assertTrue(finding["name"] and finding["text"], finding)
            if finding["state"] == "broken":
                self.assertTrue(finding["remedy"], finding)
        self.assertEqual(run.code, int(any(f["state"] == "broken" for f in found)), run)

    def test_text_and_json_say_the_same(self):
        def told():
            return {(f["name"], f["remedy"]) for f in findings(launchers.run(DOCTOR, "--json"))}

        # Other tests make and remove network devices meanwhile: what both JSONs name was there in between.
        before, text = told(), launchers.run(DOCTOR, "--all").out
        for name, remedy in before & told():
            self.assertIn(name, text)
            self.assertIn(remedy, text)

    def test_a_limit_of_addresses_is_broken_and_mended_by_ulimit(self):
        run = launchers.run("sh", "-c", f"ulimit -v 4000000; exec {DOCTOR} --json")
        self.assertEqual(run.code, 1, run)
        broken = {f["name"]: f for f in findings(run) if f["state"] == "broken"}
        self.assertIn("address space", broken)
        self.assertIn("addresses", broken)  # by trying it
        self.assertIn("ulimit -v unlimited", broken["address space"]["remedy"])

    def chosen(self, *options):
        run = launchers.run(DOCTOR, "--json", *options)
        return {f["name"]: f for f in findings(run) if f["area"] == "chosen"}

    def test_what_would_be_chosen_is_told_with_its_reason(self):
        chosen = self.chosen()
        self.assertIn("nothing is copied", chosen["same host"]["text"])
        self.assertIn("over shm/memory", chosen["same host, apart"]["text"])
        self.assertIn("over tcp/", chosen["another host"]["text"])
        self.assertRegex(chosen["another host"]["text"], r"copied and sent at once: copying .* costs less")

    def test_options_of_a_run_count(self):
        self.assertIn("over tcp/lo", self.chosen("+transports", "tcp", "+net-devices", "lo")["same host, apart"]["text"])
        lost = self.chosen("+net-devices", "nosuch")["another host"]
        self.assertEqual(lost["state"], "broken")
        self.assertIn("no interface has this name", lost["text"])
        self.assertTrue(lost["remedy"])

    def test_an_option_that_makes_no_sense_is_refused(self):
        for option, said in ((("+transports", "bananas"), 'no transport "bananas"'),
                             (("+transport-path", "/nowhere/x.so"), "does not exist"), (("+net-timeout", "soon"), "seconds")):
            run = launchers.run(DOCTOR, *option)
            self.assertEqual((run.code, run.out), (1, ""), run)
            self.assertIn(said, run.err)

    def test_a_transport_that_is_loaded_is_among_them(self):
        plugin = os.path.join(os.path.dirname(DOCTOR), "..", "tests", "transport-template", "plugin", "plugin.so")
        if not os.path.exists(plugin):
            self.skipTest("the template was not built as a shared object")
        run = launchers.run(DOCTOR, "--json", "+transport-path", plugin, "+transports", "template")
        self.assertIn("template unix", {f["name"] for f in findings(run)})
        self.assertIn("over template/unix", self.chosen("+transport-path", plugin, "+transports", "template")["another host"]["text"])

    def test_few_open_files_are_a_limit(self):
        run = launchers.run("sh", "-c", f"ulimit -n 100; exec {DOCTOR} --json")
        limited = {f["name"]: f for f in findings(run) if f["state"] == "limited"}
        self.assertIn("ulimit -n", limited["open files"]["remedy"])

    def test_one_process_a_host_speaks_under_a_launcher(self):
        if shutil.which("mpiexec.hydra") is None:
            self.skipTest("there is no mpiexec.hydra on this machine")
        run = launchers.run("mpiexec.hydra", "-n", 3, DOCTOR)
        self.assertEqual(run.out.count("3 on 1 host; this is process 0"), 1, run)

    def test_it_runs_under_charmrun(self):
        with tempfile.NamedTemporaryFile("w", suffix=".nodelist") as hosts:
            hosts.write("host localhost\n")
            hosts.flush()
            run = launchers.run(os.path.join(os.path.dirname(DOCTOR), "charmrun"), "++nodelist", hosts.name, "++n", 2, DOCTOR)
        self.assertIn("charmrun (job", run.out)
        self.assertEqual(run.out.count("2 on 1 host; this is process 0"), 1, run)

    def test_a_launcher_that_does_not_answer_is_broken(self):
        run = launchers.run(DOCTOR, "--json", PMI_FD=77, PMI_RANK=0)
        self.assertEqual(run.code, 1, run)
        self.assertTrue(any("PMI_FD=77" in f["text"] and f["state"] == "broken" for f in findings(run)), run)


if __name__ == "__main__":
    unittest.main(verbosity=2)
