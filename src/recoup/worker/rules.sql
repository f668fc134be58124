-- Workers: registered, heard of, stopped or lost. Beats are not told in the control log; births and ends are.

call recoup.guard_table('recoup.worker', 'recoup.worker');
call recoup.follow('recoup.worker', 'insert', 'c', 'recoup.record_control', 'name', 'host', 'pid', 'recoup_version');
call recoup.follow('recoup.worker', 'update', 'c', 'recoup.record_control', 'ended_at');
